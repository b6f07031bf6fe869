/**
 * What a status and a start cost with 100 000 tests in the queue beside what they cost with 10: nothing that
 * the orchestrator does may look at all of them. Both live at the same time, each in its own process, and take turns.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Measured, median } from '../figure.ts'
import type { Samples } from '../probe/process.ts'
import type { Options } from './suite.ts'

const RATIO_MAX = 2
const FEW = 10
const MANY = 99_000 // with those that a round starts there are 100 000 at most
const ROUNDS_QUICK = 15
const ROUNDS_FULL = 60
const WARM_UP = 3
const ENTRY = join(import.meta.dirname, '..', 'probe', 'process.ts')

type Answer = Readonly<{ samples?: Samples; error?: string }>

export async function probe(options: Options): Promise<readonly Measured[]> {
  const rounds = options.rounds ?? (options.quick ? ROUNDS_QUICK : ROUNDS_FULL)
  const few: Samples[] = []
  const many: Samples[] = []
  const children = [started(FEW), started(MANY)] as const
  try {
    for (const child of children) await once(child, 'message')
    for (let round = 0; round < rounds + WARM_UP; round++) {
      const samples = [await ask(children[0]), await ask(children[1])] as const
      if (round < WARM_UP) continue
      few.push(samples[0])
      many.push(samples[1])
    }
  } catch (error) {
    options.say(`failed: probe: ${String(error)}`)
    few.length = many.length = 0
  } finally {
    for (const child of children) child.kill()
  }
  return [figure(few, many)]
}

function figure(few: readonly Samples[], many: readonly Samples[]): Measured {
  const parts: Record<string, number> = {}
  const ratios: number[] = []
  for (const [name, key] of [
    ['status', 'statusUs'],
    ['start', 'startUs'],
  ] as const) {
    const [alone, among] = [middle(few, key), middle(many, key)]
    if (alone === undefined || among === undefined) continue
    ratios.push(among / alone)
    parts[`${name}-us-10`] = alone
    parts[`${name}-us-100k`] = among
  }
  const any = middle(many, 'anyUs')
  if (any !== undefined) parts['any-status-us-100k'] = any
  return {
    suite: 'probe',
    figure: 'status-ratio',
    ours: ratios.length === 2 ? Math.max(...ratios) : undefined,
    unit: 'x',
    parts,
    rounds: few.length,
    goal: [{ field: 'ours', is: '<=', value: RATIO_MAX }],
  }
}

function middle(samples: readonly Samples[], key: keyof Samples): number | undefined {
  return median(samples.map((sample) => sample[key]))
}

function started(count: number): ChildProcess {
  return fork(ENTRY, [String(count)], { execArgv: ['--expose-gc'] })
}

async function ask(child: ChildProcess): Promise<Samples> {
  const answered = Promise.withResolvers<Answer>()
  const onExit = (): void => answered.resolve({ error: 'it has ended' })
  child.once('message', (answer: Answer) => answered.resolve(answer))
  child.once('exit', onExit)
  child.send({})
  const answer = await answered.promise
  child.off('exit', onExit)
  if (answer.samples === undefined) throw new Error(answer.error ?? 'no samples')
  return answer.samples
}
