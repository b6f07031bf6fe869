/** What the service writes to its log about a request. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'

import { Given, Then } from '@cucumber/cucumber'

import type { LogLine } from '../../server.ts'
import { until } from '../../until.ts'
import type { StockWorld } from './world.ts'

const SPAN = '00f067aa0ba902b7'
/** A line is written at once, but through a pipe. */
const LOG_MS_MAX = 60_000

Given('I send the trace {string}', function (this: StockWorld, trace: string) {
  carry(this, trace)
})

Given('I send a trace of my own', function (this: StockWorld) {
  carry(this, randomBytes(16).toString('hex'))
})

Given('I send no trace', function (this: StockWorld) {
  const { traceparent: _, ...headers } = this.headers
  this.headers = headers
})

Then('the log of the handler carries my trace', async function (this: StockWorld) {
  await lineOf(this, 'of the handler', (line) => component(line) !== 'stock')
})

Then(
  'the log of the pot of {string} at {string} carries my trace',
  async function (this: StockWorld, product: string, place: string) {
    const key = decodeURIComponent(this.potKey(place, product))
    await lineOf(this, `of the pot ${key}`, (line) => JSON.stringify(line).includes(key))
  },
)

Then(
  'one line of the log closes my trace with {int}',
  async function (this: StockWorld, status: number) {
    const isClosing = (line: LogLine): boolean => line['status'] === status
    await lineOf(this, 'that closes it', isClosing)
    const { server } = await this.service()
    const closing = server.log.filter((line) => isClosing(line) && traceOf(line) === this.trace)
    assert.equal(closing.length, 1)
  },
)

Then('a line of the log has a trace of 32 hexadecimal digits', async function (this: StockWorld) {
  const { server } = await this.service()
  await until('a line has a trace', LOG_MS_MAX, () =>
    server.log.some(
      (line) =>
        JSON.stringify(line).includes('/health/started') &&
        /^[0-9a-f]{32}$/.test(traceOf(line) ?? ''),
    ),
  )
})

Then(
  'the log of my trace carries a span that is not the one I sent',
  async function (this: StockWorld) {
    await lineOf(this, 'with a span', (line) => {
      const span = (line['span_id'] ?? '') as string
      return /^[0-9a-f]{16}$/.test(span) && span !== SPAN
    })
  },
)

Then(
  'the service is told in the log that the location API is left alone',
  async function (this: StockWorld) {
    const { server } = await this.service()
    await until('the log says so', LOG_MS_MAX, () =>
      server.log.some((line) => /breaker|left alone|circuit/i.test(JSON.stringify(line))),
    )
  },
)

function carry(world: StockWorld, trace: string): void {
  world.trace = trace
  world.headers = { ...world.headers, traceparent: `00-${trace}-${SPAN}-01` }
}

async function lineOf(
  world: StockWorld,
  what: string,
  isIt: (line: LogLine) => boolean,
): Promise<LogLine> {
  const { server } = await world.service()
  return until(`a line ${what} with trace ${world.trace}`, LOG_MS_MAX, () =>
    server.log.find((line) => traceOf(line) === world.trace && isIt(line)),
  )
}

function traceOf(line: LogLine): string | undefined {
  return line['trace_id'] as string | undefined
}

function component(line: LogLine): unknown {
  return line['component']
}
