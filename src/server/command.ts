/**
 * What the command line says. It knows no more than it can do: until there is a server to start, it
 * tells its version, its usage and where the parts are.
 */
import { PRODUCT } from '../std/index.ts'

export type Answer = Readonly<{ text: string; exitCode: 0 | 1 | 2 }>

const NODE_MAJOR_MIN = 24
const NODE_MINOR_MIN = 12 // type stripping is stable from here

const HELP = `Usage: ${PRODUCT} [--help | --version]

This version has no server to start yet. Its parts are a library:
  import { … } from '${PRODUCT}/kernel'    actors
  import { … } from '${PRODUCT}/entity'    actors that remember
  import { … } from '${PRODUCT}/journal'   what must not be forgotten
  import { … } from '${PRODUCT}/testkit'   tests on virtual time
  import { … } from '${PRODUCT}/std'       clock, random, heap, deque, faults
In a checkout, \`npm start\` shows the examples one after another.`

export function answer(
  args: readonly string[],
  versions: Readonly<{ product: string; node: string }>,
): Answer {
  if (!isNodeSupported(versions.node))
    return {
      text:
        `${PRODUCT} needs Node ${NODE_MAJOR_MIN}.${NODE_MINOR_MIN} or newer, this is ${versions.node}. ` +
        'In a checkout `npm ci` brings one and `npm start` uses it; elsewhere install it from nodejs.org.',
      exitCode: 1,
    }
  const [first, ...more] = args
  if (more.length === 0) {
    if (first === '--version' || first === '-v') return { text: versions.product, exitCode: 0 }
    if (first === undefined || first === '--help' || first === '-h')
      return { text: HELP, exitCode: 0 }
  }
  return { text: `unknown arguments: ${args.join(' ')}\n\n${HELP}`, exitCode: 2 }
}

function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > NODE_MAJOR_MIN || (major === NODE_MAJOR_MIN && minor >= NODE_MINOR_MIN)
}
