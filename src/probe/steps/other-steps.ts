/** Built-in steps: calls by HTTP, groups of consumers, and what helps while writing features. */
import { systemClock } from '../../std/index.ts'
import { ask } from './asking.ts'
import { step } from './defining.ts'
import { expectMatch, matches, WANTED, wantedOf } from './matching.ts'
import type { HttpAnswer, HttpInput, HttpMethod } from './services.ts'
import { eventOf, stateOf } from './state.ts'

const POLL_MS = 250

step('the request header {string} is {string}', function (name: string, value: string) {
  stateOf(this).requestHeaders[name] = value
})

step(
  'the request header {string} is the secret {string}',
  async function (name: string, secret: string) {
    stateOf(this).requestHeaders[name] = await ask('secret', { name: secret })
  },
)

step(
  'the request header {string} is the field {string} of the secret {string}',
  async function (name: string, field: string, secret: string) {
    stateOf(this).requestHeaders[name] = await ask('secret', { name: secret, field })
  },
)

step(
  /^I (GET|DELETE|HEAD|OPTIONS|POST|PUT|PATCH) "([^"]+)"$/,
  async function (method: HttpMethod, url: string) {
    await request(this, { method, url })
  },
)

step(
  /^I (POST|PUT|PATCH|DELETE) to "([^"]+)":$/,
  async function (method: HttpMethod, url: string, body: string) {
    await request(this, { method, url, body })
  },
)

step('the response status should be {int}', function (status: number) {
  const answer = answerOf(this)
  if (answer.status !== status)
    throw new Error(`the response has status ${answer.status}, not ${status}\n${answer.body}`)
})

step('the response header {string} should be {string}', function (name: string, wanted: string) {
  const value = answerOf(this).headers[name.toLowerCase()]
  if (value !== wanted)
    throw new Error(`the response has the header ${name}: ${value ?? 'none'}, not ${wanted}`)
})

step(
  new RegExp(`^the response should match JSONPath "([^"]+)" ${WANTED}$`),
  function (path: string, word: string, written: string) {
    expectMatch('the response', path, wantedOf(word, written), bodyOf(answerOf(this)))
  },
)

step(
  new RegExp(`^GET "([^"]+)" should match JSONPath "([^"]+)" ${WANTED} within (\\d+) seconds?$`),
  async function (url: string, path: string, word: string, written: string, seconds: string) {
    const wanted = wantedOf(word, written)
    await until(Number(seconds), async (isLast) => {
      await request(this, { method: 'GET', url })
      const body = bodyOf(answerOf(this))
      if (isLast) expectMatch('the response', path, wanted, body)
      return matches(path, wanted, body)
    })
  },
)

step(
  'consumer group {string} should have read all of topic {string} within {int} second(s)',
  async (group: string, topic: string, seconds: number) => {
    await until(seconds, async (isLast) => {
      const { lag } = await ask('group-lag', { group, topic })
      if (isLast && lag > 0)
        throw new Error(`the group ${group} has ${lag} events of topic ${topic} still to read`)
      return lag === 0
    })
  },
)

step('I print the event', function () {
  const { value, key, headers } = eventOf(this)
  this.log(JSON.stringify({ key, value, headers }, undefined, 2))
})

step('I wait {int} second(s)', async (seconds: number) => {
  await pause(seconds * 1_000)
})

async function request(world: object, input: HttpInput): Promise<void> {
  const state = stateOf(world)
  const isJson = input.body !== undefined && /^\s*[{[]/.test(input.body)
  const headers = { ...(isJson && { 'content-type': 'application/json' }), ...state.requestHeaders }
  state.answer = await ask('http', { ...input, headers })
}

function answerOf(world: object): HttpAnswer {
  const { answer } = stateOf(world)
  if (answer === undefined) throw new Error('there is no response yet: no step has sent a request')
  return answer
}

function bodyOf({ body }: HttpAnswer): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

/** Tries again and again, the last time when time is up. */
async function until(
  seconds: number,
  attempt: (isLast: boolean) => Promise<boolean>,
): Promise<void> {
  const deadline = systemClock.monotonic() + seconds * 1_000
  for (;;) {
    const isLast = systemClock.monotonic() >= deadline
    if ((await attempt(isLast)) || isLast) return
    await pause(POLL_MS)
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    systemClock.setTimer(systemClock.monotonic() + ms, resolve)
  })
}
