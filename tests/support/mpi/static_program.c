/* A program without a dynamic loader: nothing can be preloaded into it. */

#include <stdio.h>

int main(void) {
  puts("done");
  return 0;
}
