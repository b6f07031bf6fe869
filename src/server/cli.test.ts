import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { sqliteJournal } from '../journal/index.ts'
import { systemClock } from '../std/index.ts'
import { run } from './cli.ts'
import type { Io } from './io.ts'
import { isNodeSupported, nodeRefusal } from './node-version.ts'

type Said = { code: number; out: string; err: string }

async function said(
  args: readonly string[],
  over: Partial<Io> & { directory: string } = { directory: tmpdir() },
): Promise<Said> {
  const heard: Said = { code: -1, out: '', err: '' }
  heard.code = await run(args, {
    out: (text) => (heard.out += text),
    err: (text) => (heard.err += text),
    isWatched: false,
    environment: {},
    clock: systemClock,
    self: 'flytower',
    versions: { product: '1.2.3', node: 'v24.12.0' },
    ...over,
  })
  return heard
}

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'cli-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

async function written(directory: string): Promise<void> {
  await using journal = await sqliteJournal({ directory })
  await journal.commit({ records: [{ collection: 'c', key: 'k', value: 'needle' }] })
}

describe('the command line', () => {
  test('tells its version', async () => {
    assert.deepEqual(await said(['--version']), { code: 0, out: '1.2.3\n', err: '' })
    assert.deepEqual(await said(['-v']), { code: 0, out: '1.2.3\n', err: '' })
  })

  test('tells its usage when asked and when not told what to do', async () => {
    for (const args of [['--help'], ['-h'], []]) {
      const { code, out } = await said(args)
      assert.match(out, /^Usage: flytower/)
      assert.equal(code, 0)
    }
  })

  test('names what it does not understand, and what was probably meant', async () => {
    for (const [args, meant] of [
      [['serv'], /Did you mean serve\?/],
      [['verify', '--jsn'], /Did you mean --json\?/],
      [['backup'], /missing required argument 'target'/],
      [['serve', '--memory', '--data', 'x'], /cannot be used with/],
    ] as const) {
      const { code, err } = await said(args)
      assert.match(err, meant)
      assert.equal(code, 2)
    }
  })

  test('says everything that is wrong with the config, and ends with 2', async () => {
    const args = ['config', 'print', '--port', 'x', '--set', 'log.levle=info', 'a=b']
    const { code, out, err } = await said(args)
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.match(err, /the flag --port: listen.port: it must be/)
    assert.match(err, /the flag --set log.levle: .* did you mean log.level\?/)
    assert.match(err, /the flag --set a: /)

    const json = await said([...args, '--json'])
    assert.equal((JSON.parse(json.out) as { code: string }).code, 'bad-config')
    assert.equal(json.err, '')
  })

  test('prints a config that is a config file', async (t) => {
    const directory = folder(t)
    const set = ['--set', 'stock.futureSkew=90s', 'log.level=warn']
    const printed = await said(['config', 'print', ...set], { directory })
    assert.equal(printed.code, 0)
    assert.match(printed.out, /^log.level: "warn" # the flag --set log.level$/m)
    writeFileSync(join(directory, 'flytower.yaml'), printed.out)
    const again = await said(['config', 'print', '--json'], { directory })
    const { settings } = JSON.parse(again.out) as { settings: { key: string; value: unknown }[] }
    assert.equal(settings.find(({ key }) => key === 'stock.futureSkew')?.value, '90s')
  })
})

describe('commands on a data directory', () => {
  test('verify and repair what nobody uses', async (t) => {
    const parent = folder(t)
    const directory = join(parent, 'journal')
    const journal = await sqliteJournal({ directory })
    await journal.commit({ records: [{ collection: 'c', key: 'k', value: 'v' }] })
    const inUse = await said(['verify', directory])
    assert.match(inUse.err, /^journal-in-use: .*\nwhat to do: /)
    assert.equal(inUse.code, 1)
    await journal.close()

    const verified = await said(['verify', directory])
    assert.match(verified.out, /no damage/)
    assert.equal(verified.code, 0, verified.err)
    const json = await said(['verify', directory, '--json'])
    assert.equal((JSON.parse(json.out) as { checked: { records: number } }).checked.records, 1)

    const repaired = await said(['repair', directory, join(parent, 'repaired'), '--json'])
    assert.equal(repaired.code, 0, repaired.err)
    assert.equal((JSON.parse(repaired.out) as { share: number }).share, 1)
    assert.deepEqual(readdirSync(parent).toSorted(), ['journal', 'repaired'])
  })

  test('find damage, and say what to do about it', async (t) => {
    const directory = join(folder(t), 'journal')
    await written(directory)
    const file = join(directory, 'journal.db')
    const bytes = readFileSync(file)
    const at = bytes.indexOf('needle')
    assert.ok(at > 0)
    bytes.write('middle', at)
    writeFileSync(file, bytes)
    const { code, out } = await said(['verify', directory])
    assert.equal(code, 1, out)
    assert.ok(out.includes(`what to do: flytower repair ${directory}`), out)
  })

  test('back up and restore, over nothing that is there', async (t) => {
    const parent = folder(t)
    const data = join(parent, 'data')
    await written(data)
    const backup = await said(['backup', 'copy', '--data', data, '--json'], { directory: parent })
    assert.deepEqual(JSON.parse(backup.out), {
      ok: true,
      directory: data,
      target: join(parent, 'copy'),
      by: 'this command',
    })
    const again = await said(['backup', 'copy', '--data', data], { directory: parent })
    assert.match(again.err, /^target-exists: /)
    assert.equal(again.code, 1)

    const over = await said(['restore', join(parent, 'copy'), data])
    assert.match(over.err, /^target-exists: /)
    assert.equal(over.code, 1)
    const restored = await said(['restore', join(parent, 'copy'), join(parent, 'other'), '--json'])
    assert.equal(restored.code, 0, restored.err)
    const verified = await said(['verify', join(parent, 'other'), '--json'])
    assert.equal((JSON.parse(verified.out) as { checked: { records: number } }).checked.records, 1)
  })

  test('need one with data in it', async (t) => {
    const parent = folder(t)
    for (const verb of ['verify', 'repair']) {
      const { code, err } = await said([verb, join(parent, 'none')])
      assert.match(err, /^no-data: /)
      assert.equal(code, 1)
    }
    const memory = await said(['verify', '--set', 'data.directory=memory'])
    assert.match(memory.err, /^bad-usage: /)
    assert.equal(memory.code, 2)
    assert.deepEqual(readdirSync(parent), [])
  })
})

describe('an old Node', () => {
  test('is refused with what to do about it', () => {
    for (const node of ['v24.12.0', 'v24.13.1', 'v25.0.0']) assert.ok(isNodeSupported(node))
    for (const node of ['v24.11.9', 'v20.20.2', 'v0.12.7']) assert.ok(!isNodeSupported(node))
    assert.match(
      nodeRefusal('flytower', 'v20.20.2'),
      /needs Node 24\.12 or newer, this is v20.*npm ci/,
    )
  })
})
