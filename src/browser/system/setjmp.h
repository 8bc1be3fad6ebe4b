/* An error ends the program, so nothing here jumps. */
#pragma once

typedef int sigjmp_buf[1];
typedef int jmp_buf[1];
