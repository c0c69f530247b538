"""The Play Developer Reporting API: crash and ANR rates from scripted series."""
