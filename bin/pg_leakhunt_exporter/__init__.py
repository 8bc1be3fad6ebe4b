"""The modules of pg_leakhunt_export, each with one responsibility.

command_line   the arguments, and what is wrong with them
server         one PostgreSQL server: its connection, what it is asked, time limits
back_off       how long to wait after failures
exposition     figures as Prometheus reads them
service        the pages that scrapes ask for
connections    peers that ask by HTTP, and what they may take of time and room
http_head      the head of a request, and whether it may be answered
push           takes profiles and hands them over, once or again and again
destinations   where profiles go, and in which form each place takes them
posting        one HTTP request to such a place
"""

VERSION = "1.0"
