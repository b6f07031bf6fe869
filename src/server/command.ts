/**
 * What the command line does. It knows no more than it can do: until there is a server to start, it
 * looks after the directory of a journal, and tells its version and its usage.
 */
import { repairDirectory, verifyDirectory } from '../journal/index.ts'
import { Accident, PRODUCT } from '../std/index.ts'

export type Answer = Readonly<{ text: string; exitCode: 0 | 1 | 2 }>

const NODE_MAJOR_MIN = 24
const NODE_MINOR_MIN = 12 // type stripping is stable from here

const HELP = `Usage: ${PRODUCT} [--help | --version]
       ${PRODUCT} verify DIRECTORY              look for damage in a journal that nobody uses
       ${PRODUCT} repair DIRECTORY [INTO]       keep all that is intact; what was there is kept beside

This version has no server to start yet. Its parts are a library:
  import { … } from '${PRODUCT}/kernel'    actors
  import { … } from '${PRODUCT}/entity'    actors that remember
  import { … } from '${PRODUCT}/journal'   what must not be forgotten
  import { … } from '${PRODUCT}/testkit'   tests on virtual time
  import { … } from '${PRODUCT}/std'       clock, random, heap, deque, faults
In a checkout, \`npm start\` shows the examples one after another.`

export async function answer(
  args: readonly string[],
  versions: Readonly<{ product: string; node: string }>,
): Promise<Answer> {
  if (!isNodeSupported(versions.node))
    return {
      text:
        `${PRODUCT} needs Node ${NODE_MAJOR_MIN}.${NODE_MINOR_MIN} or newer, this is ${versions.node}. ` +
        'In a checkout `npm ci` brings one and `npm start` uses it; elsewhere install it from nodejs.org.',
      exitCode: 1,
    }
  const [first, directory, into, ...more] = args
  if (directory === undefined) {
    if (first === '--version' || first === '-v') return { text: versions.product, exitCode: 0 }
    if (first === undefined || first === '--help' || first === '-h')
      return { text: HELP, exitCode: 0 }
  } else if (first === 'verify' && into === undefined) return reported(() => verify(directory))
  else if (first === 'repair' && more.length === 0) return reported(() => repair(directory, into))
  return { text: `unknown arguments: ${args.join(' ')}\n\n${HELP}`, exitCode: 2 }
}

async function verify(directory: string): Promise<Answer> {
  const report = await verifyDirectory(directory)
  return { text: asText(report), exitCode: report.ok ? 0 : 1 }
}

async function repair(directory: string, into: string | undefined): Promise<Answer> {
  const report = await repairDirectory(directory, into === undefined ? {} : { into })
  return { text: asText(report), exitCode: 0 }
}

/** What the world refuses is an answer too. */
async function reported(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Accident) return { text: `${error.code}: ${error.message}`, exitCode: 1 }
    throw error
  }
}

function asText(report: unknown): string {
  return JSON.stringify(report, undefined, 2)
}

function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > NODE_MAJOR_MIN || (major === NODE_MAJOR_MIN && minor >= NODE_MINOR_MIN)
}
