import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { virtualClock } from '../../testkit/index.ts'
import { kafkaAccident, within } from './kafka-faults.ts'
import { optionalPackage } from './packages.ts'

const mask = { add: () => undefined, text: (text: string) => text.replaceAll('sesame', '***') }

describe('what Kafka says', () => {
  test('becomes a fault by its kind, however deep it is wrapped, without secrets', () => {
    for (const [type, code] of [
      ['UNKNOWN_TOPIC_OR_PARTITION', 'no-such-topic'],
      ['TOPIC_AUTHORIZATION_FAILED', 'topic-denied'],
      ['GROUP_AUTHORIZATION_FAILED', 'topic-denied'],
      ['SASL_AUTHENTICATION_FAILED', 'topic-denied'],
      ['MESSAGE_TOO_LARGE', 'event-refused'],
      ['INVALID_PARTITIONS', 'event-refused'],
      ['LEADER_NOT_AVAILABLE', 'events-unavailable'],
    ] as const) {
      const inner = Object.assign(new Error('open sesame'), { type })
      const error = new Error('outer', { cause: new Error('middle', { cause: inner }) })
      const accident = kafkaAccident(error, 'do it', mask)
      assert.equal(accident.code, code)
      assert.equal(accident.fault.message, 'kafka could not do it: open ***')
      assert.equal(accident.detail['isTransient'], code === 'events-unavailable')
    }
    const sasl = Object.assign(new Error('no'), { name: 'KafkaJSSASLAuthenticationError' })
    assert.equal(kafkaAccident(sasl, 'do it', mask).code, 'topic-denied')
    assert.equal(kafkaAccident('a text', 'do it', mask).code, 'events-unavailable')
  })
})

describe('waiting for Kafka', () => {
  test('ends when time is up, and with its signal, and leaves no timer behind', async () => {
    const clock = virtualClock()
    const late = within(new Promise(() => undefined), { clock, ms: 100 })
    clock.advance(100)
    await assert.rejects(late, { code: 'events-unavailable' })
    const abort = new AbortController()
    const options = { clock, ms: 100, signal: abort.signal }
    const ended = within(Promise.withResolvers().promise, options)
    abort.abort(new Error('enough'))
    await assert.rejects(ended, /enough/)
    await assert.rejects(within(Promise.resolve(1), options), /enough/)
    assert.equal(await within(Promise.resolve(1), { clock, ms: 100 }), 1)
    assert.equal(clock.next, undefined)
  })
})

describe('a package that is not installed', () => {
  test('is named with how to install it, and other troubles are not taken for it', async () => {
    const name = 'not-installed-anywhere'
    await assert.rejects(
      optionalPackage(name, () => import(name)),
      {
        code: 'missing-package',
        message: `the package ${name} is not installed; npm install ${name}`,
      },
    )
    const broken = optionalPackage(name, () => Promise.reject(new Error(`'${name}' is broken`)))
    await assert.rejects(broken, /is broken/)
    await assert.rejects(
      optionalPackage('other', () => import(name)),
      { code: 'ERR_MODULE_NOT_FOUND' },
    )
  })
})
