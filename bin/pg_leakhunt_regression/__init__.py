"""The modules of pg_leakhunt_regress.

Each knows of those above it only:

errors       what the program ends with when it cannot go on
options      the command line, and the tests that it names
psql         sessions of psql: one that lasts, and questions with one answer
instance     a temporary server
scratch      the database that tests run in, and how it is put back after each run
growth       what a session holds after each run, and which sites grew in all of them
losses       what a session has lost: nothing points to it any more
suppressions patterns of sites that are left out
statements   which statement of the file made a site grow, and whether it does so alone
measuring    the runs of one file
output       TAP, JUnit and the progress line
program      all of it, in order
"""

VERSION = "1.0"
