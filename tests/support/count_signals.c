/* A job that counts the signals it gets, and reads lines from its standard input.
 *
 * Writes "ready", then a line for each signal ("signal 2 number 1") and each line read
 * ("read TEXT"). The line "quit" ends it with code 4. Run as `count_signals deaf` it reads nothing
 * and pauses.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(9);
}

/* Counted in the handler, written there too: nothing is lost between two of them. */
static void count(int signal) {
  static int counts[65];
  char line[] = "signal 00 number 000\n";
  const int number = ++counts[signal];
  line[7] = (char)('0' + signal / 10), line[8] = (char)('0' + signal % 10);
  for (int digit = 0, rest = number; digit < 3; ++digit, rest /= 10)
    line[19 - digit] = (char)('0' + rest % 10);
  say(line);
}

int main(int arguments, char** argument) {
  struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
  sigfillset(&action.sa_mask);
  const int counted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
  for (unsigned i = 0; i < sizeof counted / sizeof *counted; ++i)
    sigaction(counted[i], &action, NULL);
  say("ready\n");
  if (arguments > 1 && strcmp(argument[1], "deaf") == 0) {
    for (;;) pause();
  }
  char line[256], answer[300];
  for (;;) {
    if (fgets(line, sizeof line, stdin) == NULL) {
      if (feof(stdin)) return 5;
      clearerr(stdin);
      continue;
    }
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "quit") == 0) return 4;
    snprintf(answer, sizeof answer, "read %s\n", line);
    say(answer);
  }
}
