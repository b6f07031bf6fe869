/**
 * npm run bench -- SUITE [--quick] [--json] [--peers a,b] [--rounds n]
 *
 * Prints every figure with its limit, peers and goal; with --json one line per figure, everything
 * else on stderr. Ends with 0 when all goals are met and with 1, naming them, when one is not.
 */
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { BROKER_NAMES } from './broker/peers.ts'
import { OURS, oursHash, PEERS, peersHash } from './contenders.ts'
import { STORE_NAMES } from './durable/peers.ts'
import { judge, sentence } from './figure.ts'
import { REFERENCES } from './references.ts'
import { broker } from './suites/broker.ts'
import { entity } from './suites/entity.ts'
import { journal } from './suites/journal.ts'
import { kernel } from './suites/kernel.ts'
import { probe } from './suites/probe.ts'
import { sqs } from './suites/sqs.ts'
import { start } from './suites/start.ts'
import { stock } from './suites/stock.ts'
import type { Suite } from './suites/suite.ts'
import { suspend } from './suites/suspend.ts'

const SUITES: Readonly<Record<string, Suite>> = {
  kernel,
  suspend,
  journal,
  entity,
  stock,
  broker,
  sqs,
  probe,
  start,
}
const KNOWN_PEERS: Readonly<Record<string, readonly string[]>> = {
  kernel: [...PEERS, ...REFERENCES],
  journal: STORE_NAMES,
  broker: BROKER_NAMES,
}
const ROUNDS_MAX = 100

const started = performance.now()
const say = (line: string): void => void process.stderr.write(`${line}\n`)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    peers: { type: 'string' },
    rounds: { type: 'string' },
  },
})

const [name = ''] = positionals
const suite = Object.hasOwn(SUITES, name) ? SUITES[name] : undefined
if (suite === undefined || positionals.length > 1) {
  refuse(`name one suite: ${Object.keys(SUITES).join(', ')}`)
}
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0 && rounds <= ROUNDS_MAX)) {
  refuse(`--rounds takes a number from 1 to ${ROUNDS_MAX}`)
}
const peers = values.peers?.split(',').filter((id) => id !== 'none')
const known = KNOWN_PEERS[name] ?? []
const stranger = peers?.find((id) => !known.includes(id))
if (stranger !== undefined) {
  refuse(`no such peer of ${name}: ${stranger}; there are ${['none', ...known].join(', ')}`)
}

say(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`)
say(`load before the run: ${loadavg()[0]?.toFixed(1) ?? '?'}; a quiet machine has 0`)
say(
  `limits and peers sha256 ${peersHash(name === 'broker' || name === 'sqs' ? 'brokers' : 'actors')}`,
)
if (process.env['FLYTOWER_BENCH_ADAPTER']) say(`a stand-in for ours: ${OURS.file}`)

const before = oursHash()
const measured = await suite({
  quick: values.quick,
  say,
  ...(peers && { peers }),
  ...(rounds !== undefined && { rounds }),
})
const figures = measured.map(judge)
for (const figure of figures) {
  process.stdout.write(`${values.json ? JSON.stringify(figure) : sentence(figure)}\n`)
}

if (oursHash() !== before) say('src/ changed during the run: do not trust these figures')
const unmet = figures.filter(({ met }) => !met)
say(`${name}: ${figures.length} figures in ${((performance.now() - started) / 1_000).toFixed(1)} s`)
if (unmet.length > 0) {
  say(`not met: ${unmet.map(({ figure, goal }) => `${figure} (${goal})`).join(', ')}`)
  process.exitCode = 1
}

function refuse(why: string): never {
  say(why)
  say('npm run bench -- SUITE [--quick] [--json] [--peers a,b] [--rounds n]')
  process.exit(2)
}
