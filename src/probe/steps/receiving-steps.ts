/**
 * Built-in steps: events that come, and what has to be in them.
 *
 * A step that waits for one event takes the next one of its topic; one that counts looks at all of those
 * that the scenario sees.
 */
import { isDeepStrictEqual } from 'node:util'

import { outOfOrder } from '../events/query.ts'
import { ask } from './asking.ts'
import { step } from './defining.ts'
import {
  conditionOf,
  expectMatch,
  literal,
  matches,
  pathOf,
  shown,
  valuesAt,
  WANTED,
  wantedOf,
} from './matching.ts'
import type { AwaitInput, EventView } from './services.ts'
import { eventOf, stateOf } from './state.ts'

const WAIT_SECONDS = '10'

const SOURCE = '(?: with correlation "([^"]+)")? from topic "([^"]+)"(?: on cluster "([^"]+)")?'

step(
  new RegExp(
    `^I should receive an? (?:(JSON|Avro|Protobuf) )?event${SOURCE} within (\\d+) seconds?$`,
  ),
  async function (
    format: string | undefined,
    correlation: string | undefined,
    topic: string,
    cluster: string | undefined,
    seconds: string,
  ) {
    const state = stateOf(this)
    const asked = { topic, cluster, correlation, after: state.taken.get(topic) }
    const [event] = await received(this, { ...asked, ...atLeast(1), ...within(seconds) })
    if (format !== undefined)
      await ask('schema', { topic, cluster, of: 'value', format: formatOf(format) })
    if (event === undefined) return
    state.events = [event]
    state.taken.set(topic, event.sequence)
  },
)

step(
  new RegExp(`^I should receive (exactly )?(\\d+) events?${SOURCE} within (\\d+) seconds?$`),
  async function (
    exactly: string | undefined,
    count: string,
    correlation: string | undefined,
    topic: string,
    cluster: string | undefined,
    seconds: string,
  ) {
    await received(this, {
      topic,
      cluster,
      correlation,
      count: Number(count),
      is: exactly === undefined ? 'at-least' : 'exactly',
      ...within(seconds),
    })
  },
)

step(
  new RegExp(`^I should receive no events?${SOURCE} within (\\d+) seconds?$`),
  async function (
    correlation: string | undefined,
    topic: string,
    cluster: string | undefined,
    seconds: string,
  ) {
    const asked = { topic, cluster, correlation }
    await received(this, { ...asked, count: 0, is: 'exactly', ...within(seconds) })
  },
)

step(
  new RegExp(
    `^I should receive an event matching JSONPath "([^"]+)" ${WANTED}(?: from topic "([^"]+)")?(?: within (\\d+) seconds?)?$`,
  ),
  async function (
    path: string,
    word: string,
    written: string,
    named: string | undefined,
    seconds: string | undefined,
  ) {
    const topic = named ?? stateOf(this).topic
    if (topic === undefined) throw new Error('no step has named a topic yet')
    const condition = conditionOf(path, wantedOf(word, written))
    if (condition === undefined)
      throw new Error(
        'a step that waits cannot wait for a pattern: wait for the event, then match it',
      )
    await received(this, {
      topic,
      where: [condition],
      ...atLeast(1),
      ...within(seconds ?? WAIT_SECONDS),
    })
  },
)

step(
  'topic {string} should have at least {int} event(s)',
  async function (topic: string, count: number) {
    const events = await ask('query', { topic })
    if (events.length < count)
      throw new Error(
        `the topic ${topic} has ${counted(events.length, 'event')}, not at least ${count}`,
      )
    stateOf(this).events = events
  },
)

step(
  /^topic "([^"]+)" should have (\d+) events? with JSONPath "([^"]+)" (matching|with value) (.+)$/,
  async function (topic: string, count: string, path: string, word: string, written: string) {
    const wanted = wantedOf(word === 'matching' ? 'with pattern' : word, written)
    const events = await ask('query', { topic })
    const fitting = events.filter(({ value }) => matches(path, wanted, value))
    if (fitting.length !== Number(count))
      throw new Error(
        `the topic ${topic} has ${counted(fitting.length, 'such event')} among ${events.length}, not ${count}`,
      )
    stateOf(this).events = fitting
  },
)

step(
  new RegExp(`^the event( key)? should match JSONPath "([^"]+)" ${WANTED}$`),
  function (key: string | undefined, path: string, word: string, written: string) {
    const event = eventOf(this)
    const root = key === undefined ? event.value : event.key
    expectMatch(`the event${key ?? ''}`, path, wantedOf(word, written), root)
  },
)

step(
  /^the event( key)? should (not )?have JSONPath "([^"]+)"$/,
  function (key: string | undefined, not: string | undefined, path: string) {
    const event = eventOf(this)
    const root = key === undefined ? event.value : event.key
    const isThere = valuesAt(path, root).length > 0
    if (isThere === (not === undefined)) return
    throw new Error(`the event${key ?? ''} has ${isThere ? 'something' : 'nothing'} at ${path}
${shown(root)}`)
  },
)

step('the event should equal:', function (written: string) {
  const { value } = eventOf(this)
  if (!isDeepStrictEqual(value, literal(written.trim())))
    throw new Error(`the event is ${shown(value)}`)
})

step('the event header {string} should be {string}', function (name: string, wanted: string) {
  const { headers } = eventOf(this)
  if (headers[name] !== wanted)
    throw new Error(`the event has the header ${name}: ${headers[name] ?? 'none'}, not ${wanted}`)
})

step(
  new RegExp(`^(all|\\d+) events? should match JSONPath "([^"]+)" ${WANTED}$`),
  function (count: string, path: string, word: string, written: string) {
    const { events } = stateOf(this)
    const wanted = wantedOf(word, written)
    if (events.length === 0) throw new Error('there is no event yet: no step has received one')
    const fitting = events.filter(({ value }) => matches(path, wanted, value)).length
    const needed = count === 'all' ? events.length : Number(count)
    if (fitting !== needed)
      throw new Error(`${fitting} of ${counted(events.length, 'event')} fit, not ${needed}`)
  },
)

step(
  /^the events should be ordered by JSONPath "([^"]+)" (ascending|descending)$/,
  function (path: string, order: string) {
    const wrong = outOfOrder(stateOf(this).events, pathOf(path), order === 'descending')
    if (wrong !== undefined)
      throw new Error(`the event at offset ${wrong.offset} is out of order\n${shown(wrong.value)}`)
  },
)

function atLeast(count: number): Pick<AwaitInput, 'count' | 'is'> {
  return { count, is: 'at-least' }
}

function within(seconds: string): Pick<AwaitInput, 'withinMs'> {
  return { withinMs: Number(seconds) * 1_000 }
}

async function received(world: object, input: AwaitInput): Promise<readonly EventView[]> {
  const { isSatisfied, events, seen } = await ask('await-events', input)
  const state = stateOf(world)
  state.events = events
  state.topic = input.topic
  if (isSatisfied) return events
  const correlation = input.correlation ?? state.correlation
  const about = correlation === undefined ? '' : ` with correlation ${correlation}`
  throw new Error(
    `${counted(events.length, 'fitting event')} came from topic ${input.topic}${about} within ` +
      `${input.withinMs / 1_000} s, not ${input.is.replace('-', ' ')} ${input.count}; ` +
      `the scenario saw ${counted(seen, 'event')} there in all`,
  )
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function formatOf(written: string): 'json' | 'avro' | 'protobuf' {
  return written === 'Avro' ? 'avro' : written === 'Protobuf' ? 'protobuf' : 'json'
}
