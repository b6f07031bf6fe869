/**
 * Many programs, one after the other, to the first that goes wrong; that one is cut down and shown.
 *
 *   node test/probe/model/campaign.ts SEED PROGRAMS
 *
 * MODEL_SHRINK=no shows a program that goes wrong as it is.
 *
 * As a program of its own it is faster: a test runner follows every promise.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'

import { play } from './play.ts'
import { programOf, type Program } from './program.ts'
import { shrink } from './shrink.ts'

export type Tally = Readonly<Record<string, number>>

export async function campaign(from: number, programs: number): Promise<Tally> {
  const total: Record<string, number> = {}
  for (let seed = from; seed < from + programs; seed++) {
    const program = programOf(seed)
    const { violation, tally } = await play(program)
    if (violation !== undefined) throw new Error(await storyOf(program, violation))
    for (const [what, times] of Object.entries(tally)) total[what] = (total[what] ?? 0) + times
  }
  return total
}

/** The same as a program of its own; rejects with what it said. */
export function campaignApart(from: number, programs: number): Promise<Tally> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = [join(import.meta.dirname, 'campaign.ts'), `${from}`, `${programs}`]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout) as Tally)
      else
        reject(
          new Error(/model: seed \d+: [^]*/.exec(stderr)?.[0] ?? `${error.message}\n${stderr}`),
        )
    })
  })
}

async function storyOf(program: Program, violation: string): Promise<string> {
  const small = process.env['MODEL_SHRINK'] === 'no' ? program : await cutDown(program, violation)
  const { ops, seed, ...rest } = small
  return [
    `model: seed ${seed}: ${violation}`,
    JSON.stringify(rest),
    ...ops.map((op) => `  ${JSON.stringify(op)}`),
  ].join('\n')
}

/** The smallest program that goes wrong in the same way, numbers aside. */
async function cutDown(program: Program, violation: string): Promise<Program> {
  const kind = kindOf(violation)
  return shrink(program, async (smaller) => {
    const again = await play(smaller)
    return again.violation !== undefined && kindOf(again.violation) === kind
  })
}

function kindOf(violation: string): string {
  return violation.replaceAll(/\d+/g, '#')
}

if (import.meta.main) {
  Error.stackTraceLimit = 0 // every actor that ends makes an error
  const [from, programs] = process.argv.slice(2)
  const total = await campaign(Number(from), Number(programs))
  process.stdout.write(`${JSON.stringify(total)}\n`)
}
