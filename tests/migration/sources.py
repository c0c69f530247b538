"""What public workflows, lanes and build files hold, each fact in a minimal file of our own, and what must come out.

A case has the file's path and text, the inputs of every step, which are separated by ` | ` with lists on one line, and
what is named beside them, with the line of each.
"""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """A file, the inputs of each step, what is left with the numbers of its lines, and the paths that lie beside it."""

    path: str
    text: str
    steps: list[str]
    left: list[str]
    beside: tuple[str, ...] = ()


def workflow(step: str) -> str:
    """A workflow of one step, which begins in line 6."""
    head = "on: push\njobs:\n  release:\n    runs-on: ubuntu-latest\n    steps:\n"
    return head + "".join(f"      {line}\n" for line in step.strip().splitlines())


WORKFLOW = ".github/workflows/release.yml"
FASTFILE = "fastlane/Fastfile"
KOTLIN = "app/build.gradle.kts"
GITLAB = ".gitlab-ci.yml"

SOURCES: dict[str, Source] = {
    "a key that an earlier step wrote into a file": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJson: android/play-store-key.json
    packageName: com.example.app
    releaseFiles: build/app/outputs/bundle/release/app-release.aab
    track: internal
    status: completed
    changesNotSentForReview: true
"""),
        [
            (
                "target: play | credentials: android/play-store-key.json | "
                "files: build/app/outputs/bundle/release/app-release.aab | package-name: com.example.app | "
                "tracks: internal | status: completed"
            )
        ],
        ["8: serviceAccountJson", "13: changesNotSentForReview: true"],
    ),
    "a pattern, and a track with a comment behind it": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: android/app/build/outputs/bundle/release/*.aab
    track: internal  # or production
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | "
                "files: android/app/build/outputs/bundle/release/*.aab | tracks: internal"
            )
        ],
        [],
    ),
    "no track, which was production": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFile: app-release.aab
"""),
        ["target: play | credentials: ${{ secrets.PLAY }} | files: app-release.aab | tracks: production"],
        ["6: no tracks given"],
    ),
    "a step with a name, an id and a condition": Source(
        WORKFLOW,
        workflow("""\
- name: Upload to Google Play
  id: upload
  if: startsWith(github.ref, 'refs/tags/')
  uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app-release.aab
    track: internal
    status: completed
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: app-release.aab | tracks: internal | "
                "status: completed"
            )
        ],
        [],
    ),
    "an input that is commented out": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJson: service_account.json
    releaseFiles: app.aab
    track: beta
#   whatsNewDirectory: whatsnew/
"""),
        ["target: play | credentials: service_account.json | files: app.aab | tracks: beta"],
        ["8: serviceAccountJson"],
    ),
    "a track of its own, and a key behind an expression": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJson: ${{ steps.auth.outputs.credentials_file_path }}
    releaseFiles: builds/app-release-signed.aab
    track: closed-testers
    status: completed
    changesNotSentForReview: false
"""),
        [
            (
                "target: play | credentials: ${{ steps.auth.outputs.credentials_file_path }} | "
                "files: builds/app-release-signed.aab | tracks: closed-testers | status: completed"
            )
        ],
        ["12: changesNotSentForReview: false"],
    ),
    "a track that the person who starts the run chooses": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app/build/outputs/bundle/release/*.aab
    track: ${{ github.event.inputs.track || 'internal' }}
    status: completed
    whatsNewDirectory: distribution/whatsnew
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | "
                "files: app/build/outputs/bundle/release/*.aab | "
                "tracks: ${{ github.event.inputs.track || 'internal' }} | status: completed | "
                "whats-new-directory: distribution/whatsnew"
            )
        ],
        [],
    ),
    "outputs of earlier steps, a name and a priority": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app.aab
    track: ${{ steps.track.outputs.TRACK }}
    inAppUpdatePriority: 2
    releaseName: ${{ steps.version.outputs.VERSION_NAME }}
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: app.aab | "
                "tracks: ${{ steps.track.outputs.TRACK }} | "
                "release-name: ${{ steps.version.outputs.VERSION_NAME }} | in-app-update-priority: 2"
            )
        ],
        [],
    ),
    "a share of users that is all of them": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app.aab
    track: internal
    status: completed
    userFraction: 1.0
    whatsNewDirectory: android-app/whatsnew/
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: app.aab | tracks: internal | "
                "status: completed | whats-new-directory: android-app/whatsnew/"
            )
        ],
        ["12: userFraction: 1.0"],
    ),
    "a staged rollout": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app-release.aab
    track: production
    status: inProgress
    inAppUpdatePriority: 2
    userFraction: 0.33
    whatsNewDirectory: distribution/whatsnew
    mappingFile: app/build/outputs/mapping/release/mapping.txt
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: app-release.aab | "
                "tracks: production | status: inProgress | user-fraction: 0.33 | "
                "whats-new-directory: distribution/whatsnew | in-app-update-priority: 2 | "
                "mapping-file: app/build/outputs/mapping/release/mapping.txt"
            )
        ],
        [],
    ),
    "a staged rollout whose status contradicts it": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app-release.aab
    track: production
    status: completed
    userFraction: 0.5
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: app-release.aab | "
                "tracks: production | user-fraction: 0.5"
            )
        ],
        ["11: status: completed"],
    ),
    "several files and tracks, mapping and symbols": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@935ef9c68bb393a8e6116b1575626a7f5be3a7fb # v1.1.3
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: phone.aab,wear.aab
    tracks: internal,alpha
    mappingFile: mapping.txt
    debugSymbols: symbols.zip
    existingEditId: ${{ needs.open.outputs.edit }}
    versionCodesToRetain: 1,2
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: phone.aab , wear.aab | "
                "tracks: internal,alpha | mapping-file: mapping.txt | debug-symbols: symbols.zip | "
                "version-codes-to-retain: 1,2 | existing-edit-id: ${{ needs.open.outputs.edit }}"
            )
        ],
        [],
    ),
    "internal app sharing": Source(
        WORKFLOW,
        workflow("""\
- uses: r0adkll/upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app-debug.apk
    track: internalsharing
    status: completed
"""),
        ["target: play-internal-sharing | credentials: ${{ secrets.PLAY }} | files: app-debug.apk"],
        ["11: status: completed"],
    ),
    "a fork under the same name": Source(
        WORKFLOW,
        workflow("""\
- uses: smartone-solutions/actions-upload-google-play@v1
  with:
    serviceAccountJsonPlainText: ${{ secrets.PLAY }}
    releaseFiles: app.aab
    track: alpha
    dryRun: true
"""),
        ["target: play | credentials: ${{ secrets.PLAY }} | files: app.aab | tracks: alpha"],
        ["11: dryRun: true"],
    ),
    "the action of another author": Source(
        WORKFLOW,
        workflow("""\
- uses: KevinRohn/github-action-upload-play-store@v1.0.2
  with:
    service_account_json: ${{ secrets.PLAY }}
    package_name: com.example.app
    aab_file_path: build/app.aab
    track: internal
    release_status: completed
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: build/app.aab | "
                "package-name: com.example.app | tracks: internal | status: completed"
            )
        ],
        [],
    ),
    "the defaults of the action of another author": Source(
        WORKFLOW,
        workflow("""\
- uses: KevinRohn/github-action-upload-play-store@v1.0.0
  with:
    service_account_json: ${{ secrets.PLAY }}
    package_name: com.example.app
    aab_file_path: ./build/app.aab
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: ./build/app.aab | "
                "package-name: com.example.app | tracks: internal | status: draft"
            )
        ],
        ["6: no status given", "6: no tracks given"],
    ),
    "a composite action of the repository's own": Source(
        ".github/actions/publish/action.yml",
        """\
name: Publish
inputs: {key: {required: true}}
runs:
  using: composite
  steps:
    - uses: r0adkll/upload-google-play@v1
      with:
        serviceAccountJsonPlainText: ${{ inputs.key }}
        releaseFiles: app.aab
        track: beta
""",
        ["target: play | credentials: ${{ inputs.key }} | files: app.aab | tracks: beta"],
        [],
    ),
    "a command of codemagic's tools": Source(
        WORKFLOW,
        workflow("""\
- name: Publish
  continue-on-error: true
  id: google_play_upload
  run: |
    google-play bundles publish \\
      --bundle build/app-release.aab \\
      --track internal \\
      --credentials @file:android/keys/play.json
"""),
        [("target: play | credentials: android/keys/play.json | files: build/app-release.aab | tracks: internal")],
        ["10: --credentials"],
    ),
    "codemagic's key in the environment, notes, a rollout": Source(
        WORKFLOW,
        workflow("""\
- env:
    GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS: ${{ secrets.PLAY }}
  run: |
    google-play bundles publish -b app.aab -t production -f 0.25 \\
      --release-notes '[{"language": "en-US", "text": "a: b"}]'
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | files: app.aab | tracks: production | "
                'user-fraction: 0.25 | whats-new: en-US: "a: b"'
            )
        ],
        [],
    ),
    "a Gradle task with its key in the environment": Source(
        WORKFLOW,
        workflow("""\
- env:
    ANDROID_PUBLISHER_CREDENTIALS: ${{ secrets.PLAY }}
  working-directory: mobile
  run: ./gradlew :app:publishReleaseBundle --track beta --no-daemon
"""),
        [
            (
                "target: play | credentials: ${{ secrets.PLAY }} | "
                "files: mobile/app/build/outputs/bundle/release/*.aab | tracks: beta"
            )
        ],
        ["9: no files given"],
    ),
    "a Gradle task that promotes": Source(
        WORKFLOW,
        workflow("""\
- run: ./gradlew promoteArtifact --from-track alpha --promote-track beta --release-status inProgress --user-fraction .25
"""),
        [
            (
                "target: play | credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }} | tracks: beta | "
                "status: inProgress | user-fraction: .25 | promote-from: alpha"
            )
        ],
        ["6: credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }}"],
    ),
    "a folder into a bucket": Source(
        WORKFLOW,
        workflow("""\
- uses: google-github-actions/upload-cloud-storage@v2
  with:
    path: site
    destination: my-docs-bucket
"""),
        ['target: storage.objects.insert | files: site/** | params: {"bucket": "my-docs-bucket"}'],
        ["6: no key is given"],
    ),
    "a folder into a part of a bucket, with a key": Source(
        WORKFLOW,
        workflow("""\
- uses: google-github-actions/upload-cloud-storage@v1
  with:
    credentials: ${{ secrets.GCP }}
    path: dist/web
    glob: '*.html'
    destination: bucket/web/latest
    parent: false
"""),
        [
            (
                "target: storage.objects.insert | credentials: ${{ secrets.GCP }} | files: dist/web/*.html | "
                'params: {"bucket": "bucket", "name": "web/latest/"}'
            )
        ],
        ["9: path: dist/web", "12: parent: false"],
    ),
    "one file into a bucket behind an expression": Source(
        WORKFLOW,
        workflow("""\
- uses: google-github-actions/upload-cloud-storage@v2
  with:
    path: version.json
    destination: ${{ env.BUCKET_PATH }}
"""),
        [('target: storage.objects.insert | files: version.json | params: {"bucket": "${{ env.BUCKET_PATH }}"}')],
        ["6: no key is given"],
    ),
    "a lane with a relative bundle in a Flutter project": Source(
        "android/fastlane/Fastfile",
        """\
platform :android do
  lane :internal do
    upload_to_play_store(
      track: 'internal',
      aab: '../build/app/outputs/bundle/release/app-release.aab',
      json_key_data: ENV['PLAY_STORE_JSON_KEY']
    )
  end
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.PLAY_STORE_JSON_KEY }} | "
                "files: build/app/outputs/bundle/release/app-release.aab | tracks: internal"
            )
        ],
        ["6: json_key_data"],
    ),
    "a lane with a key file, and no listing": Source(
        "apps/mobile/fastlane/Fastfile",
        """\
lane :beta do
  upload_to_play_store(
    track: "internal",
    aab: "android/app.aab",
    json_key: "play.json",
    package_name: "com.example.app",
    skip_upload_metadata: true,
    skip_upload_images: true,
    skip_upload_screenshots: true
  )
end
""",
        [
            (
                "target: play | credentials: apps/mobile/play.json | files: apps/mobile/android/app.aab | "
                "package-name: com.example.app | tracks: internal | "
                "whats-new-directory: apps/mobile/fastlane/metadata/android"
            )
        ],
        [
            "5: json_key",
            "7: skip_upload_metadata: true",
            "8: skip_upload_images: true",
            "9: skip_upload_screenshots: true",
        ],
        ("apps/mobile/fastlane/metadata/android",),
    ),
    "a lane that uploads what Gradle built": Source(
        FASTFILE,
        """\
lane :deploy do
  gradle(task: "clean bundleRelease")
  upload_to_play_store(track: "internal")
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | "
                "files: app/build/outputs/bundle/release/*.aab | tracks: internal | "
                "whats-new-directory: fastlane/metadata/android | images-directory: fastlane/metadata/android"
            )
        ],
        ["3: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}", "3: no files given"],
        ("fastlane/metadata/android",),
    ),
    "a promotion with a rollout": Source(
        FASTFILE,
        """\
lane :release do
  upload_to_play_store(
    track: "internal",
    track_promote_to: "production",
    rollout: "0.1" # 10 percent
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | tracks: production | "
                "user-fraction: 0.1 | promote-from: internal"
            )
        ],
        ["2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}"],
    ),
    "a promotion of a version that the caller names": Source(
        FASTFILE,
        """\
lane :promote do |o|
  upload_to_play_store(
    track: o[:from] || "internal",
    track_promote_to: o[:to] || "alpha",
    track_promote_release_status: "draft",
    version_code: o[:version_code],
    skip_upload_aab: true, skip_upload_apk: true
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | tracks: alpha | "
                "status: draft | promote-from: internal"
            )
        ],
        [
            "2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}",
            '3: track: o[:from] || "internal"',
            '4: track_promote_to: o[:to] || "alpha"',
            "6: version_code: o[:version_code]",
            "7: skip_upload_aab: true",
            "7: skip_upload_apk: true",
        ],
    ),
    "a promotion with nothing but the two tracks": Source(
        FASTFILE,
        """\
lane :promote_to_prod do
  supply(track_promote_to: "production", track: "internal")
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | tracks: production | "
                "promote-from: internal"
            )
        ],
        ["2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}"],
    ),
    "a rollout that is halted": Source(
        FASTFILE,
        """\
lane :halt do |o|
  upload_to_play_store(
    track: o[:track] || "production",
    release_status: "halted",
    rollout: o[:rollout] || 0.01,
    version_code: o[:version_code],
    skip_upload_aab: true, skip_upload_apk: true
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | tracks: production | "
                "status: halted | user-fraction: 0.01"
            )
        ],
        [
            "2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}",
            '3: track: o[:track] || "production"',
            "5: rollout: o[:rollout] || 0.01",
            "6: version_code: o[:version_code]",
            "7: skip_upload_aab: true",
            "7: skip_upload_apk: true",
        ],
    ),
    "a key from the environment, and a draft": Source(
        FASTFILE,
        """\
lane :internal do
  upload_to_play_store(
    aab: "app.aab",
    json_key: ENV["PLAY_KEY"],
    release_status: "draft",
    track: "internal"
  )
end
""",
        [("target: play | credentials: ${{ secrets.PLAY_KEY }} | files: app.aab | tracks: internal | status: draft")],
        ["4: json_key"],
    ),
    "a listing alone": Source(
        FASTFILE,
        """\
lane :upload_metadata do
  supply(
    skip_upload_apk: true,
    skip_upload_aab: true,
    skip_upload_changelogs: true,
    sync_image_upload: true,
    metadata_path: "fastlane/metadata/android"
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | "
                "images-directory: fastlane/metadata/android"
            )
        ],
        [
            "2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}",
            "3: skip_upload_apk: true",
            "4: skip_upload_aab: true",
            "5: skip_upload_changelogs: true",
            "6: sync_image_upload: true",
        ],
    ),
    "a call without brackets": Source(
        FASTFILE,
        """\
lane :deploy do
  upload_to_play_store sync_image_upload:"true", track:"beta",
    aab:"app.aab"
end
""",
        ["target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | files: app.aab | tracks: beta"],
        ["2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}", "2: sync_image_upload: true"],
    ),
    "a share of users that only Ruby can tell": Source(
        FASTFILE,
        """\
lane :production do
  supply(
    track: "beta",
    track_promote_to: "production",
    rollout: (percentage / 100).to_s
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | tracks: production | "
                "status: draft | promote-from: beta"
            )
        ],
        [
            "2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}",
            "2: status: draft",
            "5: rollout: (percentage / 100).to_s",
        ],
    ),
    "APKs by a flavour that only Ruby can tell": Source(
        FASTFILE,
        """\
lane :deploy do |options|
  supply(
    track: "alpha",
    apk_paths: [ "out/#{options[:flavor]}.apk" ],
    skip_upload_aab: true
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | "
                "files: app/build/outputs/apk/release/*.apk | tracks: alpha"
            )
        ],
        [
            "2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}",
            "2: no files given",
            '4: apk_paths: [ "out/#{options[:flavor]}.apk" ]',
            "5: skip_upload_aab: true",
        ],
    ),
    "internal app sharing from a lane": Source(
        FASTFILE,
        """\
lane :share do
  url = upload_to_play_store_internal_app_sharing(
    package_name: "com.example.app",
    aab: "app.aab",
    json_key_data: ENV["PLAY"]
  )
end
""",
        [
            (
                "target: play-internal-sharing | credentials: ${{ secrets.PLAY }} | files: app.aab | "
                "package-name: com.example.app"
            )
        ],
        ["5: json_key_data"],
    ),
    "a rollout to everybody": Source(
        FASTFILE,
        """\
lane :production do
  upload_to_play_store(
    track: "production",
    aab: "app.aab",
    release_status: "completed",  # or "draft"
    rollout: "1.0"
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | files: app.aab | "
                "tracks: production | status: completed"
            )
        ],
        ["2: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}", "6: rollout: 1.0"],
    ),
    "a mapping and a version code beside a file": Source(
        FASTFILE,
        """\
lane :deploy do
  supply(
    track: "production",
    aab: "./app.aab",
    json_key: "./fastlane/play.json",
    release_status: "completed",
    version_code: 42,
    mapping: "./app/build/outputs/mapping/release/mapping.txt"
  )
end
""",
        [
            (
                "target: play | credentials: ./fastlane/play.json | files: ./app.aab | tracks: production | "
                "status: completed | mapping-file: ./app/build/outputs/mapping/release/mapping.txt"
            )
        ],
        ["5: json_key", "7: version_code: 42"],
    ),
    "lists, versions that stay, and what Ruby alone can tell": Source(
        FASTFILE,
        """\
lane :deploy do |options|
  bundle = "out/app.aab"
  upload_to_play_store(
    options,
    **defaults,
    aab: bundle,
    mapping_paths: ["out/mapping.txt", "out/native.zip"],
    version_codes_to_retain: [12, 34],
    version_name: "#{ENV['VERSION']} beta",
    metadata_path: nil,
    track: choose_track(options),
    in_app_update_priority: 3,
    timeout: 600,
    obb_main_references_version: 7
  )
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | files: out/app.aab | "
                "tracks: internal | release-name: ${{ env.VERSION }} beta | in-app-update-priority: 3 | "
                "mapping-file: out/mapping.txt | debug-symbols: out/native.zip | "
                "expansion-file-main: references:7 | version-codes-to-retain: 12 , 34"
            )
        ],
        [
            "3: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}",
            "3: no tracks given",
            "3: release-name: ${{ env.VERSION }} beta",
            "4: options",
            "5: **defaults",
            "11: track: choose_track(options)",
            "13: timeout: 600",
        ],
    ),
    "one call that is commented out, and a rocket": Source(
        FASTFILE,
        """\
# upload_to_play_store(track: "production")
=begin
=end
lane :beta do
  supply(:track => "beta", "apk" => 'app.apk', validate_only: true)
end
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | files: app.apk | "
                "dry-run: true | tracks: beta"
            )
        ],
        ["5: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}"],
    ),
    "several APKs and a variable in a path": Source(
        FASTFILE,
        """\
lane :beta do
  upload_to_play_store(
    track: :beta,
    apk_paths: ["#{ENV["OUT"]}/a.apk", "out/b.apk"],
    json_key: "secrets/play.json",
    skip_upload_apk: false
  )
end
""",
        [("target: play | credentials: secrets/play.json | files: ${{ env.OUT }}/a.apk , out/b.apk | tracks: beta")],
        ["2: files: ${{ env.OUT }}/a.apk out/b.apk", "5: json_key"],
    ),
    "a block that a property switches on": Source(
        KOTLIN,
        """\
play {
  isEnabled = props.hasProperty("play.credentials")
  if (isEnabled) {
    serviceAccountCredentials = file(props.getProperty("play.credentials"))
    defaultToAppBundles = true
    track = "beta"
  }
}
""",
        [
            (
                "target: play | credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }} | "
                "files: app/build/outputs/bundle/release/*.aab | tracks: beta"
            )
        ],
        [
            "1: credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }}",
            "1: no files given",
            "4: serviceAccountCredentials",
            '6: track = "beta"',
        ],
    ),
    "a block in Groovy": Source(
        "app/build.gradle",
        """\
apply plugin: 'com.github.triplet.play'
android { compileSdk 35 }
play {
    serviceAccountCredentials = file('play.json')
    track = 'alpha'
    releaseStatus = 'completed'
    defaultToAppBundles = true
}
""",
        [
            (
                "target: play | credentials: app/play.json | files: app/build/outputs/bundle/release/*.aab | "
                "tracks: alpha | status: completed"
            )
        ],
        ["3: no files given", "4: serviceAccountCredentials"],
    ),
    "a block in Groovy without signs": Source(
        "build.gradle",
        """\
play {
    track 'internal'
    userFraction 0.25d
    releaseStatus "inProgress"
}
""",
        [
            (
                "target: play | credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }} | "
                "files: app/build/outputs/bundle/release/*.aab | tracks: internal | status: inProgress | "
                "user-fraction: 0.25"
            )
        ],
        ["1: credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }}", "1: no files given"],
    ),
    "one key on the build server, another at home": Source(
        KOTLIN,
        """\
play {
    if (System.getenv("JENKINS_URL") != null) {
        serviceAccountCredentials = file(System.getenv("DEPLOYMENT_KEYS"))
        defaultToAppBundles = true
        track = "alpha"
    } else {
        serviceAccountCredentials = file("../deployment_keys.json")
    }
}
""",
        [
            (
                "target: play | credentials: ${{ secrets.DEPLOYMENT_KEYS }} | "
                "files: app/build/outputs/bundle/release/*.aab | tracks: alpha"
            )
        ],
        ["1: no files given", "3: serviceAccountCredentials", '5: track = "alpha"', "7: serviceAccountCredentials"],
    ),
    "a key below the root folder": Source(
        "android/app/build.gradle.kts",
        """\
play {
    defaultToAppBundles = true
    serviceAccountCredentials = file("$rootDir/config/play.json")
    track = "production"
}
""",
        [
            (
                "target: play | credentials: android/config/play.json | "
                "files: android/app/build/outputs/bundle/release/*.aab | tracks: production | "
                "whats-new-directory: android/app/src/main/play"
            )
        ],
        ["1: no files given", "3: serviceAccountCredentials"],
        ("android/app/src/main/play/release-notes",),
    ),
    "properties with a fallback, and a constant": Source(
        KOTLIN,
        """\
play {
    defaultToAppBundles.set(true)
    track.set(providers.gradleProperty("playTrack").orElse("internal"))
    releaseStatus.set(com.github.triplet.gradle.androidpublisher.ReleaseStatus.DRAFT)
    serviceAccountCredentials.set(
        layout.projectDirectory.file(providers.gradleProperty("playJson").orElse("play.json").get()),
    )
}
""",
        [
            (
                "target: play | credentials: app/play.json | files: app/build/outputs/bundle/release/*.aab | "
                "tracks: internal | status: draft"
            )
        ],
        [
            "1: no files given",
            '3: track.set(providers.gradleProperty("playTrack").orElse("internal"))',
            "5: serviceAccountCredentials",
        ],
    ),
    "a version code that the plugin chose": Source(
        KOTLIN,
        """\
val playKey = rootProject.file("play.json")
play {
    enabled.set(playKey.exists())
    serviceAccountCredentials.set(playKey)
    track.set("internal")
    defaultToAppBundles.set(true)
    resolutionStrategy.set(ResolutionStrategy.AUTO)
}
""",
        [("target: play | credentials: play.json | files: app/build/outputs/bundle/release/*.aab | tracks: internal")],
        [
            "2: no files given",
            "3: enabled.set(playKey.exists())",
            "4: serviceAccountCredentials",
            "7: resolutionStrategy: AUTO",
        ],
    ),
    "an offset to the version code": Source(
        KOTLIN,
        """\
play {
    serviceAccountCredentials.set(file("play.json"))
    resolutionStrategy.set(ResolutionStrategy.AUTO_OFFSET)
    defaultToAppBundles.set(false)
}
""",
        [("target: play | credentials: app/play.json | files: app/build/outputs/apk/release/*.apk | tracks: internal")],
        [
            "1: no files given",
            "1: no tracks given",
            "2: serviceAccountCredentials",
            "3: resolutionStrategy: AUTO_OFFSET",
        ],
    ),
    "a rollout, a priority, a name, versions that stay": Source(
        KOTLIN,
        """\
play {
    track = "production"
    userFraction = 0.5
    updatePriority = 2
    releaseStatus = "inProgress"
    releaseName = "My release"
    fromTrack.set("alpha")
    promoteTrack.set("beta")
    artifactDir = file("path/to/dir")
    commit.set(false)
    retain {
        artifacts = listOf(123, 124)
        mainObb = 123
        patchObb = 124
    }
}
""",
        [
            (
                "target: play | credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }} | "
                "files: app/path/to/dir/*.a* | tracks: production | status: inProgress | user-fraction: 0.5 | "
                "release-name: My release | in-app-update-priority: 2 | expansion-file-main: references:123 | "
                "expansion-file-patch: references:124 | version-codes-to-retain: 123 , 124 | commit: false"
            )
        ],
        [
            "1: credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }}",
            "7: fromTrack: alpha",
            "8: promoteTrack: beta",
        ],
    ),
    "a key file that the environment names": Source(
        "build.gradle.kts",
        """\
android {
    if (System.getenv("KEY_FILE") != null) {
        play {
            val keyfile: String = System.getenv("KEY_FILE") ?: "Missing"
            serviceAccountCredentials.set(file(keyfile))
            track.set("internal")
            releaseStatus.set(ReleaseStatus.DRAFT)
            resolutionStrategy.set(ResolutionStrategy.IGNORE)
        }
    }
}
""",
        [
            (
                "target: play | credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }} | "
                "files: app/build/outputs/bundle/release/*.aab | tracks: internal | status: draft"
            )
        ],
        [
            "3: credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }}",
            "3: no files given",
            "5: serviceAccountCredentials",
            "8: resolutionStrategy: IGNORE",
        ],
    ),
    "a key file if the environment has one": Source(
        KOTLIN,
        """\
play {
    System.getenv("PLAY_SA_KEY_FILE")?.let { serviceAccountCredentials.set(file(it)) }
    track.set("alpha")                     // closed testing
    defaultToAppBundles.set(true)
}
""",
        [
            (
                "target: play | credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }} | "
                "files: app/build/outputs/bundle/release/*.aab | tracks: alpha"
            )
        ],
        [
            "1: credentials: ${{ secrets.ANDROID_PUBLISHER_CREDENTIALS }}",
            "1: no files given",
            "2: serviceAccountCredentials",
        ],
    ),
    "a job that runs supply": Source(
        GITLAB,
        """\
stages: [build, release]
variables:
  PACKAGE: com.example.app
release_internal:
  stage: release
  image: ruby:3.3
  rules:
    - if: $CI_COMMIT_TAG
      when: manual
      allow_failure: true
  before_script:
    - cd android
  script:
    - bundle exec fastlane supply --aab app/app.aab --track internal --json_key_data "$PLAY_KEY" --package_name $PACKAGE
""",
        [
            (
                "target: play | credentials: $PLAY_KEY | files: android/app/app.aab | "
                "package-name: com.example.app | tracks: internal"
            )
        ],
        ["14: json_key_data"],
    ),
    "a job that runs the action with GitLab's own key": Source(
        GITLAB,
        """\
deploy:
  script:
    - fastlane run supply aab:"${BUILD_AAB}" track:internal skip_upload_metadata:true
    - fastlane android staging
""",
        ["target: play | credentials: $SUPPLY_JSON_KEY_DATA | files: $BUILD_AAB | tracks: internal"],
        [
            "3: credentials: $SUPPLY_JSON_KEY_DATA",
            "3: files: $BUILD_AAB",
            "3: skip_upload_metadata: true",
            "4: fastlane android staging",
        ],
    ),
    "a job that runs codemagic's tools": Source(
        GITLAB,
        """\
publish:
  stage: deploy
  variables: {TRACK: beta}
  script:
    - |
      pip install codemagic-cli-tools
      google-play bundles publish --bundle app.aab --track $TRACK --draft --changes-not-sent-for-review
""",
        [
            (
                "target: play | credentials: $GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS | files: app.aab | "
                "tracks: beta | status: draft"
            )
        ],
        ["7: --changes-not-sent-for-review: true", "7: credentials: $GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS"],
    ),
    "a script of a shell": Source(
        "scripts/release.sh",
        """\
#!/bin/bash
set -e
./gradlew clean :app:bundleRelease
# fastlane supply --aab old.aab
bundle exec fastlane run upload_to_play_store \\
  package_name:"com.example.app" \\
  track:"beta" \\
  metadata_path:"./fastlane/metadata/android" \\
  aab:"app.aab"
""",
        [
            (
                "target: play | credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }} | files: app.aab | "
                "package-name: com.example.app | tracks: beta | "
                "whats-new-directory: ./fastlane/metadata/android | "
                "images-directory: ./fastlane/metadata/android"
            )
        ],
        ["5: credentials: ${{ secrets.SUPPLY_JSON_KEY_DATA }}"],
    ),
    "short options, and a promotion in a script": Source(
        "release.sh",
        """\
fastlane supply -f app.aab -a internal -j key.json && echo done
fastlane supply --track beta --track_promote_to production --rollout 0.2 --json_key key.json
""",
        [
            "target: play | credentials: key.json | files: app.aab | tracks: internal",
            ("target: play | credentials: key.json | tracks: production | user-fraction: 0.2 | promote-from: beta"),
        ],
        ["1: json_key", "2: json_key"],
    ),
}
