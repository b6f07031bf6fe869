/**
 * Many runs of the model, one seed after the other.
 *
 *   node test/broker/model/campaign.ts SEED RUNS [fair | weather | disk | mixed | sqlite]
 *
 * As a program of its own it is twice as fast: a test runner follows every promise.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  DISK_FAULTS,
  JOURNAL_TROUBLES,
  world,
  type World,
  type WorldOptions,
} from '../../../src/testkit/index.ts'
import { simulated, sqlite } from './engines.ts'
import { play, type Run } from './play.ts'

type Troubles = Pick<WorldOptions, 'journalTroubles' | 'diskFaults'>
export type Kind = 'fair' | 'weather' | 'disk' | 'mixed' | 'sqlite'
export type Tally = Readonly<Record<string, number>>

const ORDERS = ['any', 'arrival', 'newest'] as const
const WEATHER: Troubles = { journalTroubles: JOURNAL_TROUBLES }
const FULL: Troubles = { journalTroubles: ['slow'], diskFaults: ['slow', 'full'] }
const BROKEN: Troubles = { journalTroubles: JOURNAL_TROUBLES, diskFaults: DISK_FAULTS }
/** The power fails in all of them. In fair weather more is known, and less is forgiven. */
const TROUBLES: Readonly<Record<Kind, readonly Troubles[]>> = {
  fair: [{}, { journalTroubles: ['slow'] }, { diskFaults: ['slow'] }],
  weather: [WEATHER],
  disk: [FULL, BROKEN],
  mixed: [{}, WEATHER, {}, FULL, { journalTroubles: ['slow'] }, BROKEN],
  sqlite: [{}],
}

/** Opening SQLite costs more than playing: so more programs are played at a time. */
export const PROGRAMS_SQLITE = 56

function playOne(earth: World, kind: Kind): Promise<Run> {
  return kind === 'sqlite' ? play(earth, sqlite(), PROGRAMS_SQLITE) : play(earth, simulated(earth))
}

export async function campaign(from: number, runs: number, kind: Kind): Promise<Tally> {
  const total: Record<string, number> = {}
  for (let seed = from; seed < from + runs; seed++) {
    const troubles = TROUBLES[kind]
    const earth = world({
      seed,
      order: ORDERS[seed % ORDERS.length]!,
      stepsMax: 1_000_000,
      msMax: 10 ** 9,
      freeze: false,
      ...troubles[seed % troubles.length],
    })
    const run = await playOne(earth, kind).catch((error: unknown) => {
      throw new Error(`model: seed ${seed}: ${String(error)}`, { cause: error })
    })
    const [first] = run.violations
    if (first !== undefined)
      throw new Error(`model: seed ${seed}: ${first} (${run.violations.length} in all)`)
    for (const [what, times] of Object.entries(run.tally)) total[what] = (total[what] ?? 0) + times
  }
  return total
}

/** The same as a program of its own; rejects with what it said. */
export function campaignApart(from: number, runs: number, kind: Kind): Promise<Tally> {
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env
  // A journal has threads of its own, and each start of one would compile everything again.
  const cache = mkdtempSync(join(tmpdir(), 'broker-model-compiled-'))
  const env = { ...rest, NODE_COMPILE_CACHE: cache }
  const args = [join(import.meta.dirname, 'campaign.ts'), `${from}`, `${runs}`, kind]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      rmSync(cache, { recursive: true, force: true })
      if (error === null) resolve(JSON.parse(stdout) as Tally)
      else
        reject(new Error(/model: seed \d+: .*/.exec(stderr)?.[0] ?? `${error.message}\n${stderr}`))
    })
  })
}

if (import.meta.main) {
  const [from, runs, kind = 'mixed'] = process.argv.slice(2)
  const total = await campaign(Number(from), Number(runs), kind as Kind)
  process.stdout.write(`${JSON.stringify(total)}\n`)
}
