"""Gmail: a message made from inputs or read from a file becomes a mail, a draft, or an entry in a mailbox."""

from uploader.services.mail.gmail import prepare as prepare
