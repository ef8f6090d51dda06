/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawnloop N COMMAND [ARG]...: starts N of COMMAND by posix_spawn() and
 * waits for them; the yardstick for starting several ranks.
 */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
	int status, failed = 0;
	pid_t pid;

	if (argc < 3)
		return 125;
	for (int i = atoi(argv[1]); i > 0; i--)
		failed |= posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ);
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}
