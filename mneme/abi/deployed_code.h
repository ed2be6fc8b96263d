/* What deployed code and who loads it into a program agree on. */
#ifndef MNEME_ABI_DEPLOYED_CODE_H
#define MNEME_ABI_DEPLOYED_CODE_H

/* The variable of the code in which the addresses of the program's variables stand, one behind another, as 64-bit numbers. */
#define MNEME_VARIABLE_TABLE "__mneme_variables"

#endif
