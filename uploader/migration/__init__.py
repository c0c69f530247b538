"""Another tool's workflow, lane or build file becomes the step for this one: `uploader migrate FILE`.

`source_file` reads it, `workflow_file`, `command_lines`, `fastfile` and `gradle_file` find the uploads, `conversion`
says what each setting is here, `step` writes the result. No run of an upload imports anything of it.
"""
