/**
 * The built-in steps as `docs/reference/steps.md` promises them: every row of that page is run, by a
 * real process against the cluster in this one, and a service that answers over HTTP.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'

import type { TopicDirective } from '../../src/probe/bundle/directive.ts'
import type { Security } from '../../src/probe/children/ports.ts'
import { memoryClusters } from '../../src/probe/events/memory.ts'
import { eventRooms } from '../../src/probe/events/room.ts'
import { secret } from '../../src/probe/secrets/secret.ts'
import { httpHandlers } from '../../src/probe/steps/http-service.ts'
import { secretHandlers } from '../../src/probe/steps/secret-service.ts'
import { serve } from '../../src/probe/steps/services.ts'
import type { StepServices } from '../../src/probe/runner/runner.ts'
import { createMask } from '../../src/probe/secrets/mask.ts'
import { silentLog, systemClock } from '../../src/std/index.ts'
import { DIRECTIVE, ran, Scratch, type Told } from './running.ts'

const [PAGE = ''] = readFileSync('docs/reference/steps.md', 'utf8').split('## Steps of your own')
const ROWS = [...PAGE.matchAll(/^\| `(.+?)` \| /gm)].map(([, text]) => text!)

const TABLE = `
      | id | at | $type        | $correlation |
      | 4  | 8  | order.placed | c-1          |
      | 5  | 9  | order.placed | c-1          |`

/** What stands behind the colon of a row. */
function argumentOf(text: string): string {
  if (!text.endsWith(':')) return ''
  return text.includes('following') ? TABLE : docString(BODIES[text] ?? '{"id": 3, "at": 7}')
}

const BODIES: Readonly<Record<string, string>> = {
  'the event should equal:': '{ "at": 6, "id": 2 }',
  'I POST to "http://service.test/orders":': '{"id": 1}',
}

function docString(text: string): string {
  return `\n      """\n      ${text}\n      """`
}

function topic(name: string, role: TopicDirective['role']): TopicDirective {
  return {
    topic: name,
    role,
    clientPrincipal: undefined,
    eventFilters: [],
    metadata: {},
    bootstrapServers: undefined,
    keyFormat: 'cloudevent',
    valueFormat: 'json',
    schema: undefined,
    from: 'latest',
    create: undefined,
    line: 1,
  }
}

const NONE = { type: 'none' } as const

/** `replies` is the same topic as it is read: the producer's events come back there. */
const TOPICS = [
  topic('orders', 'producer'),
  topic('orders', 'consumer'),
  topic('replies', 'producer'),
  topic('replies', 'consumer'),
]

type More = Readonly<{
  steps?: string
  parallel?: number
  topics?: readonly TopicDirective[]
  /** Produced to `orders` before the test is loaded. */
  earlier?: string
}>

async function runWith(feature: string, more: More = {}): Promise<Told> {
  const { steps, parallel = 1, topics = TOPICS } = more
  using scratch = new Scratch()
  await using service = await serving()
  await using clusters = memoryClusters({ clock: systemClock, autoCreate: 1 })
  if (more.earlier !== undefined) {
    const options = { topic: 'orders', credentials: NONE, signal: new AbortController().signal }
    await using producer = await clusters.open(undefined).producer(options)
    await producer.send({ key: undefined, value: Buffer.from(more.earlier), headers: {} })
  }
  const security: Security = {
    credentials: new Map(topics.map(({ topic: name, role }) => [`${name}/${role}`, NONE])),
    secrets: new Map([['token', new Map([['value', secret('token', 's-1')]])]]),
  }
  const room = eventRooms({ clusters, clock: systemClock, log: silentLog })({
    testId: 'test-1',
    bundle: {
      directory: scratch.path,
      features: [],
      directive: { ...DIRECTIVE, topics },
    },
    evidence: scratch.path,
    security,
    mask: createMask(),
  })
  const { signal } = new AbortController()
  await using sessions = new AsyncDisposableStack()
  sessions.use(await room.openProducing(security, signal))
  sessions.use(await room.openConsuming(security, signal, () => undefined))
  const others = serve({
    ...secretHandlers({ secrets: security.secrets, mask: createMask() }),
    ...httpHandlers({ allow: [service.origin], clock: systemClock, signal }),
  })
  const told = await ran(scratch, {
    files: {
      'features/steps.feature': feature.replaceAll('http://service.test', service.origin),
      ...(steps !== undefined && { 'steps/own.ts': steps }),
    },
    directive: { parallel },
    services: answering(room.services(), others),
  })
  await room.seal()
  return told
}

/** Whatever goes to `orders` comes back from `replies`. */
function answering(events: StepServices, others: StepServices): StepServices {
  return {
    async call(name, input) {
      if (name === 'http' || name === 'secret') return others.call(name, input)
      const answer = await events.call(name, input)
      const { topic: to } = input as { topic?: string }
      if (name === 'produce' && to === 'orders')
        await events.call(name, { ...(input as object), topic: 'replies' })
      return answer
    },
  }
}

async function serving(): Promise<AsyncDisposable & { origin: string }> {
  const server = createServer((request: IncomingMessage, response) => {
    const isKnown = request.headers.authorization === 's-1' && request.headers.accept !== undefined
    response.setHeader('content-type', 'application/json')
    response.statusCode = isKnown ? 200 : 401
    request.resume().on('end', () => response.end('{"id": 1}'))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

describe('probe-C1: the built-in steps', () => {
  // Without `BUILT_IN` in child.ts no step of these is defined.
  test('are those of the page, and every one of them holds', async () => {
    assert.ok(ROWS.length >= 40, `${ROWS.length} rows were found`)
    // Neither a registry nor an other program is there for these two.
    const left = ROWS.filter((row) => !row.includes('Avro') && !row.includes('consumer group'))
    const steps = left.map((text) => `    * ${text}${argumentOf(text)}`)
    const { result, fault } = await runWith(
      `Feature: steps\n  Scenario: all\n${steps.join('\n')}\n`,
    )
    assert.equal(fault, undefined)
    assert.deepEqual(result?.failedScenarios, [])
    assert.equal(result.stepsPassed, left.length)
  })

  test('say what is there instead when they do not hold, and none is ambiguous', async () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['I have a topic "unknown"', /not in the directive file/],
      ['cluster "far" is configured', /no topic of the directive is on the cluster far/],
      ['the topic uses Avro serialization', /are not written in avro/],
      [
        'I should receive an event with correlation "x" from topic "replies" within 0 seconds',
        /0 fitting/,
      ],
      [
        'I should receive exactly 2 events from topic "orders" within 1 second',
        /1 fitting event came/,
      ],
      ['topic "orders" should have at least 3 events', /has 1 event, not at least 3/],
      [
        'topic "orders" should have 0 events with JSONPath "$.a" matching "b"',
        /1 such event among 1/,
      ],
      ['the event should match JSONPath "$.a" with value "c"', /has "b" at \$\.a, not "c"/],
      ['the event should match JSONPath "$.a" with pattern "^c"', /not what fits \^c/],
      ['the event should match JSONPath "$.a" containing "c"', /not what contains "c"/],
      ['the event should match JSONPath "$.n" less than 1', /has 1 at \$\.n, not less than 1/],
      ['the event should match JSONPath "$.n" with value one', /one is neither text in quotes/],
      ['the event should match JSONPath "$[" with value 1', /cannot be read at character 2/],
      ['the event key should match JSONPath "$.type" with value "x"', /the event key has/],
      ['the event should not have JSONPath "$.a"', /has something at \$\.a/],
      ['the event header "h" should be "i"', /header h: none, not i/],
      ['all events should match JSONPath "$.n" with value 2', /0 of 1 event fit, not 1/],
      [
        'I GET "http://elsewhere.test/"',
        /steps may not call http:\/\/elsewhere\.test.*probe\.httpAllow/,
      ],
      ['the request header "x" is the secret "other"', /may not have the secret other/],
      ['the response status should be 200', /there is no response yet/],
    ]
    const scenarios = wrong.map(
      ([text]) => `  Scenario: it
    * I have a topic "orders"
    * I produce event {"a": "b", "n": 1} to topic "orders"
    * I should receive an event from topic "orders" within 5 seconds
    * ${text}
`,
    )
    const { result, fault } = await runWith(`Feature: wrong\n${scenarios.join('')}`)
    assert.equal(fault, undefined)
    assert.equal(result?.scenariosFailed, wrong.length)
    assert.equal(result.stepsUndefined, 0)
    wrong.forEach(([text, error], n) => {
      assert.match(result.failedScenarios[n]?.error ?? '', error, text)
    })
  })
})

const OWN = `import { ask, BeforeAll, Given, Then, type EventQuery } from 'flytower/steps'
import assert from 'node:assert/strict'

BeforeAll(async () => {
  await ask('produce', { topic: 'orders', value: { of: 'nobody' } })
})
Given('{word} places an order', async (of: string) => {
  await ask('produce', { topic: 'orders', value: { of } })
})
Given('{word} meets the others', async (of: string) => {
  await ask('produce', { topic: 'orders', correlation: 'met', value: { of } })
  const met = { topic: 'orders', correlation: 'met', since: 0, count: 3, is: 'at-least' } as const
  assert.ok((await ask('await-events', { ...met, withinMs: 30_000 })).isSatisfied)
})
Then('{int} order(s) of {word} came', async (count: number, of: string) => {
  const { isSatisfied, events } = await ask('await-events', {
    topic: 'orders', count, is: 'exactly', withinMs: 300,
  })
  assert.deepEqual(events.map(({ value }) => (value as { of: string }).of), Array(count).fill(of))
  assert.ok(isSatisfied)
  assert.deepEqual(await ask('query', { topic: 'orders' }), events)
})
Then('{int} order(s) came in all', async (count: number) => {
  assert.equal((await ask('query', { topic: 'orders', since: 0 })).length, count)
})
Then('the orders that came carry {string}', async (wanted: string) => {
  const events = await ask('query', { topic: 'orders', where: [], since: 0 })
  assert.deepEqual(events.map(({ correlation }) => correlation), [wanted])
})
Given('an order without a topic', async () => {
  await ask('produce', { topic: 'unknown', value: 1 })
})
`

describe('what a scenario sees', () => {
  // Without `completed` in asking.ts each of these sees what the ones before have left.
  test('came after it began, whoever asks for it and however it was produced', async () => {
    const { result, fault } = await runWith(
      `Feature: own
  Scenario: one
    * Ann places an order
    * 1 order of Ann came
    * I should receive exactly 1 event from topic "orders" within 1 second
    * the event should be acknowledged
  Scenario: two, which produces nothing
    * 0 orders of Ann came
    * I should receive no event from topic "orders" within 0 seconds
    * topic "orders" should have 0 events with JSONPath "$.of" matching "."
    * 2 orders came in all
  Scenario: three
    * I produce event {"of": "Bob"} to topic "orders"
    * 1 order of Bob came
    * I should receive an event from topic "orders" within 1 second
    * the event should match JSONPath "$.of" with value "Bob"
`,
      { steps: OWN },
    )
    assert.equal(fault, undefined)
    assert.deepEqual(result?.failedScenarios, [])
    assert.equal(result.scenariosPassed, 3)
  })

  test('was there before the test only where the directive reads from the beginning', async () => {
    const scenario = `  Scenario: it
    * 0 orders of Bob came
    * I produce event {"of": "Ann"} to topic "orders"
    * I should receive exactly 1 event from topic "orders" within 1 second
`
    const feature = `Feature: own\n${scenario}${scenario}`
    const earlier = '{"of": "Ann"}'
    const { result } = await runWith(feature, { steps: OWN, earlier })
    assert.deepEqual(result?.failedScenarios, [])
    const topics = TOPICS.map((each) => ({ ...each, from: 'earliest' as const }))
    const later = await runWith(
      feature.replaceAll('0 orders of Bob', '1 order of Ann').replaceAll('exactly 1', 'exactly 2'),
      { steps: OWN, earlier, topics },
    )
    assert.deepEqual(later.result?.failedScenarios, [])
    assert.equal(later.result.scenariosPassed, 2)
  })

  test('is its own where scenarios run side by side, as far as they have correlation IDs', async () => {
    const scenarios = ['Ann', 'Bob', 'Eve'].map(
      (name) => `  Scenario: ${name}
    * ${name} meets the others
    * I have correlation ID "${name}"
    * ${name} places an order
    * 1 order of ${name} came
`,
    )
    const { result, fault } = await runWith(`Feature: own\n${scenarios.join('')}`, {
      steps: OWN,
      parallel: 3,
    })
    assert.equal(fault, undefined)
    assert.deepEqual(result?.failedScenarios, [])
    assert.equal(result.scenariosPassed, 3)
  })

  test('carries its correlation ID, also what a step of its own has produced', async () => {
    const { result } = await runWith(
      `Feature: own
  Scenario: one
    * I have correlation ID "c-1"
    * Ann places an order
    * I should receive an event with correlation "c-1" from topic "orders" within 1 second
    * the orders that came carry "c-1"
  Scenario: two
    * I have correlation ID "c-2"
    * Ann places an order
    * I should receive an event with correlation "c-1" from topic "orders" within 0 seconds
`,
      { steps: OWN },
    )
    assert.equal(result?.scenariosPassed, 1)
    assert.match(
      result.failedScenarios[0]?.error ?? '',
      /: 0 fitting events came from topic orders with correlation c-1 within 0 s, not at least 1; the scenario saw 1 event there in all/,
    )
  })

  test('is refused with the place of the step that asked', async () => {
    const { result } = await runWith(
      'Feature: own\n  Scenario: one\n    * an order without a topic\n',
      {
        steps: OWN,
      },
    )
    const [failed] = result?.failedScenarios ?? []
    assert.match(failed?.error ?? '', /Refused: the directive has no topic unknown/)
    assert.match(failed?.error ?? '', /steps\/own\.ts:31:/)
  })
})
