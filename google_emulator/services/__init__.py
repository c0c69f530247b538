"""Google's APIs, one module (or, for Play, folder) each: their own rules and their own memory."""
