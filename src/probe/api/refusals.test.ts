/** What the routes of the orchestrator refuse, and in which words. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { desk, NOBODY, type Told } from '../../../test/probe/desk.ts'
import { PASSED } from '../../../test/probe/fakes.ts'
import { receive } from '../../kernel/index.ts'
import { fault, type Fault } from '../../std/index.ts'
import { BUCKET_CHARS_MAX, PROBE_ANSWER_MS, TEST_TYPE_CHARS_MAX } from '../limits.ts'
import type { ProbeFaultCode } from '../protocol.ts'
import { PROBE_REFUSALS } from './refusing.ts'

const START = '/api/v1/test/start'
const JSON_TYPE = { 'content-type': 'application/json' }
const ZIP = { 'content-type': 'application/zip' }

const KNOWN = new Set(['error', 'message', 'code', 'details', 'retryAfter', 'timestamp'])

/** The words of a refusal, after its body was seen to be one. */
function refusalOf({ status, headers, body, text }: Told): string {
  assert.equal(headers['content-type'], 'application/json', text)
  assert.equal(typeof body['message'], 'string', text)
  assert.equal(typeof body['timestamp'], 'number', text)
  assert.deepEqual(
    Object.keys(body).filter((name) => !KNOWN.has(name)),
    [],
    text,
  )
  assert.ok(!text.includes('null'), text)
  const seconds = headers['retry-after']
  assert.equal(body['retryAfter'], seconds === undefined ? undefined : `${seconds}s`, text)
  return `${status} ${String(body['error'])}`
}

describe('a body of a start', () => {
  test('that is no JSON, lacks a field or has no id in the place of one is a bad request', async () => {
    await using at = await desk()
    const path = '/bundles/a'
    for (const sent of [
      '{"test-id":',
      '[]',
      '{}',
      JSON.stringify({ 'block-storage-path': path }),
      JSON.stringify({ 'test-id': NOBODY }),
      JSON.stringify({ 'test-id': null, 'block-storage-path': path }),
      JSON.stringify({ 'test-id': 'seven', 'block-storage-path': path }),
      JSON.stringify({ 'test-id': `${NOBODY}0`, 'block-storage-path': path }),
    ]) {
      const told = await at.ask('POST', START, sent, { headers: JSON_TYPE })
      assert.equal(refusalOf(told), '400 bad_request', sent)
    }
  })

  test('that breaks a rule is told which field', async () => {
    await using at = await desk()
    const testId = await at.begun()
    for (const [field, value] of [
      ['block-storage-path', ''],
      ['block-storage-path', '   '],
      ['block-storage-path', 'a\0b'],
      ['block-storage-path', 'x'.repeat(BUCKET_CHARS_MAX + 1)],
      ['test-type', ''],
      ['test-type', ' \t'],
      ['test-type', 'a\0'],
      ['test-type', 'x'.repeat(TEST_TYPE_CHARS_MAX + 1)],
      ['priority', 10],
      ['exclusive', ['']],
    ] as const) {
      const body = { 'test-id': testId, 'block-storage-path': '/bundles/a', [field]: value }
      const told = await at.ask('POST', START, body)
      assert.equal(refusalOf(told), '400 validation_error', field)
      assert.equal(told.body['message'], 'Request validation failed')
      assert.match(JSON.stringify(told.body['details']), new RegExp(field))
    }
    const { body } = await at.ask('GET', `/api/v1/test/${testId}/status`)
    assert.equal(body['state'], 'Setup', 'nothing of it was heard')
  })

  test('with tags that are no expression is told so', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const body = { 'test-id': testId, 'block-storage-path': '/bundles/a', tags: '@a and and' }
    const told = await at.ask('POST', START, body)
    assert.equal(refusalOf(told), '400 validation_error')
    assert.match(String(told.body['message']), /^tags is no tag expression: /)
    assert.equal((told.body['details'] as { field: string }).field, 'tags')
    assert.equal((await at.status(testId)).state, 'Setup')
  })

  test('may be as long as the rules say', async () => {
    await using at = await desk()
    await at.startedOver({
      'block-storage-path': 'x'.repeat(BUCKET_CHARS_MAX),
      'test-type': 'x'.repeat(TEST_TYPE_CHARS_MAX),
    })
  })

  test('of another type is refused', async () => {
    await using at = await desk()
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
      const told = await at.ask('POST', START, '{}', { headers: { 'content-type': type } })
      assert.equal(refusalOf(told), '415 unsupported_media_type')
    }
  })
})

describe('an id that is none', () => {
  test('is a bad request, in a path and in a query', async () => {
    await using at = await desk()
    for (const [method, url] of [
      ['GET', '/api/v1/test/seven/status'],
      ['GET', `/api/v1/test/${NOBODY}0/status`],
      ['DELETE', '/api/v1/test/seven'],
      ['GET', '/api/v1/test/seven/history'],
      ['GET', '/api/v1/queue/status?testId=seven'],
      ['GET', '/api/v1/queue/status?testId='],
      ['GET', '/api/v1/events?testId=seven'],
    ] as const)
      assert.equal(refusalOf(await at.ask(method, url)), '400 bad_request', url)
  })

  test('of a test that is not there is not found, wherever it is named', async () => {
    await using at = await desk()
    const body = { 'test-id': NOBODY, 'block-storage-path': '/bundles/a' }
    assert.equal(refusalOf(await at.ask('POST', START, body)), '404 not_found')
    for (const [method, url] of [
      ['GET', `/api/v1/test/${NOBODY}/status`],
      ['DELETE', `/api/v1/test/${NOBODY}`],
      ['GET', `/api/v1/queue/status?testId=${NOBODY}`],
    ] as const)
      assert.equal(refusalOf(await at.ask(method, url)), '404 not_found', url)
  })
})

describe('a path', () => {
  test('that nobody has is not found, in the same words', async () => {
    await using at = await desk()
    for (const url of ['/api/v1/nothing', `/api/v1/test/${NOBODY}`, '/api/v1/test'])
      assert.match(refusalOf(await at.ask('PATCH', url)), /^40[45] /)
    assert.equal(refusalOf(await at.ask('GET', '/api/v1/nothing')), '404 not_found')
  })

  test('takes its own methods only, and says which', async () => {
    await using at = await desk()
    for (const [method, url, allow] of [
      ['POST', '/api/v1/health', 'GET, HEAD, OPTIONS'],
      ['DELETE', '/api/v1/health', 'GET, HEAD, OPTIONS'],
      ['GET', '/api/v1/queue/mode', 'PUT, OPTIONS'],
      ['PUT', `/api/v1/test/${NOBODY}/status`, 'GET, HEAD, OPTIONS'],
    ] as const) {
      const told = await at.ask(method, url)
      assert.equal(refusalOf(told), '405 method_not_allowed', url)
      assert.equal(told.headers['allow'], allow)
      assert.match(JSON.stringify(told.body['details']), new RegExp(allow))
    }
  })
})

describe('a start that is not accepted', () => {
  test('says so in both languages: accepted is false, and the status is of a refusal', async () => {
    await using at = await desk({ settings: { depth: 1 } })
    const running = await at.startedOver()
    await at.startedOver()
    const again = await at.ask('POST', START, {
      'test-id': running,
      'block-storage-path': '/bundles/other',
    })
    assert.deepEqual(
      [again.status, again.body['accepted'], again.body['reason'], again.body['error']],
      [409, false, 'already-started', 'not_accepted'],
    )
    const third = await at.begun()
    const full = await at.ask('POST', START, {
      'test-id': third,
      'block-storage-path': '/bundles/a',
    })
    assert.deepEqual(
      [full.status, full.body['accepted'], full.body['reason']],
      [429, false, 'queue-full'],
    )
    assert.equal(full.headers['retry-after'], '30')
    assert.equal(full.body['retryAfter'], '30s')
    const { body } = await at.ask('GET', `/api/v1/test/${third}/status`)
    assert.equal(body['state'], 'Setup', 'it may be started later')
  })

  test('of a test that has ended is a conflict; running it again is another request', async () => {
    await using at = await desk()
    const testId = await at.startedOver()
    at.fakes.runOf(testId).finish(PASSED)
    await at.settle()
    const told = await at.ask('POST', START, {
      'test-id': testId,
      'block-storage-path': '/bundles/a',
    })
    assert.deepEqual([told.status, told.body['reason']], [409, 'finished'])
    const fresh = await at.begun()
    const retried = await at.ask('POST', `/api/v1/test/${fresh}/retry`)
    assert.deepEqual([retried.status, retried.body['reason']], [409, 'never-started'])
  })
})

describe('a bundle that is brought', () => {
  test('is refused beyond the limit, of another type, to nobody and to one that runs', async () => {
    await using at = await desk({ uploadBytesMax: 10 })
    const testId = await at.begun()
    const put = (id: string, bytes: number, headers = ZIP): Promise<Told> =>
      at.ask('PUT', `/api/v1/test/${id}/bundle`, Buffer.alloc(bytes), { headers })
    assert.equal((await put(testId, 10)).status, 201)
    assert.equal(refusalOf(await put(testId, 11)), '413 payload_too_large')
    const text = { 'content-type': 'text/plain' }
    assert.equal(refusalOf(await put(testId, 5, text)), '415 unsupported_media_type')
    assert.equal(refusalOf(await put(NOBODY, 5)), '404 not_found')
    const running = await at.startedOver()
    assert.equal(refusalOf(await put(running, 5)), '409 conflict')
  })

  test('is refused in the words of the store', async () => {
    const codes = {
      'bundle-file-refused': '400 bad_request',
      'upload-busy': '409 conflict',
      'bundle-too-large': '413 payload_too_large',
      'storage-unavailable': '503 service_unavailable',
    } as const
    for (const [code, wanted] of Object.entries(codes)) {
      const refusal: Fault = { ok: false, code, message: 'no', detail: {} }
      await using at = await desk({ instead: { upload: async () => refusal } })
      const url = `/api/v1/test/${await at.begun()}/bundle`
      const told = await at.ask('PUT', url, Buffer.from('PK'), { headers: ZIP })
      assert.equal(refusalOf(told), wanted)
    }
  })
})

async function broken(): Promise<never> {
  throw new Error('secret thing at /home/me/src/queue.ts:7')
}

describe('every fault of the orchestrator', () => {
  test('has its status, its word and, where trying again may help, when', async () => {
    for (const [code, { status, error, retryAfterS }] of Object.entries(PROBE_REFUSALS)) {
      const refusal = { ...fault('no-such-test', 'as it is'), code: code as ProbeFaultCode }
      await using at = await desk({ instead: { status: async () => refusal } })
      const told = await at.ask('GET', `/api/v1/test/${NOBODY}/status`).catch((error_: unknown) => {
        // Some faults are no answer of this route, whose documentation then rightly lacks them.
        assert.match(String(error_), /documentation does not know/)
        return undefined
      })
      if (told === undefined) continue
      assert.equal(refusalOf(told), `${status} ${error}`, code)
      assert.equal(told.headers['retry-after'], retryAfterS?.toString(), code)
    }
  })

  test('of a test that does not answer is 504 after 25 s, and not before', async () => {
    await using at = await desk({ factories: { execution: () => receive(() => undefined) } })
    const { answer } = await at.beginAsking('POST', '/api/v1/test/initialize')
    let told: Told | undefined
    void answer.then((later) => (told = later))
    await at.town.advance(PROBE_ANSWER_MS - 1)
    assert.equal(told, undefined)
    await at.town.advance(1)
    assert.equal(refusalOf(await at.town.until(answer)), '504 actor_timeout')
  })

  test('that nobody expected tells nothing of the inside', async () => {
    await using at = await desk({ instead: { status: broken } })
    const told = await at.ask('GET', `/api/v1/test/${NOBODY}/status`)
    assert.equal(refusalOf(told), '500 internal_server_error')
    assert.ok(!told.text.includes('secret thing'))
  })

  test('of a server that ends is 503 with a time to come back', async () => {
    await using at = await desk()
    await at.town.until(at.probe.close())
    const told = await at.ask('POST', '/api/v1/test/initialize')
    assert.equal(refusalOf(told), '503 service_unavailable')
    assert.equal(told.headers['retry-after'], '30')
  })
})
