/**
 * The doctor as a process, on directories in every state: it tells the truth, and what it says to do is
 * done by a shell and helps.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test, type TestContext } from 'node:test'

import { repairDirectory, sqliteJournal } from '../../src/journal/index.ts'
import { systemClock } from '../../src/std/index.ts'
import { command, freshFolder, serving, shell } from './processes.ts'

type Check = Readonly<{
  name: string
  status: string
  message: string
  where?: string
  certainty?: string
  command?: string
  advice?: string
}>

const DISK_BYTES = 192 * 2 ** 20

async function written(directory: string): Promise<void> {
  await using journal = await sqliteJournal({ directory })
  await journal.commit({ records: [{ collection: 'c', key: 'k', value: 'needle' }] })
}

async function doctor(directory: string, ...more: string[]): Promise<Check[]> {
  const port = more.some((word) => word.startsWith('listen.port=')) ? [] : ['--port', '0']
  const args = ['doctor', '--json', '--data', directory, ...port, ...more]
  const { code, out, err } = await command(args)
  const { ok, checks } = JSON.parse(out || err) as { ok: boolean; checks: Check[] }
  assert.equal(code, ok ? 0 : 1, out)
  assert.equal(ok, troubles(checks).length === 0)
  return checks
}

/** What is wrong, and nothing else. */
function troubles(checks: readonly Check[]): Check[] {
  return checks.filter(({ status }) => status === 'trouble')
}

function named(checks: readonly Check[], wanted: string): Check | undefined {
  return checks.find(({ name }) => name === wanted)
}

async function heal(check: Check | undefined): Promise<void> {
  assert.ok(check?.command !== undefined, JSON.stringify(check))
  const { code, err } = await shell(check.command)
  assert.equal(code, 0, err)
}

/** Root may do everything, so where we are root somebody else has to be the one who may not. */
function as(line: string): string {
  return `setpriv --reuid 65534 --regid 65534 --clear-groups ${line}`
}

/** A disk of a few megabytes, or none where it takes a right that we do not have. */
function smallDisk(t: TestContext): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'small-disk-'))
  try {
    const size = `size=${DISK_BYTES}`
    execFileSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', disk], { stdio: 'pipe' })
  } catch (error) {
    t.skip(`a small disk cannot be mounted here, it takes root: ${String(error)}`)
    return undefined
  }
  const unmount = (): void => {
    execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true })
  }
  process.prependListener('exit', unmount)
  t.after(() => {
    process.off('exit', unmount)
    unmount()
  })
  return disk
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

describe('the doctor', () => {
  test('finds nothing in a healthy directory, nor where there is none yet', async (t) => {
    const directory = join(freshFolder(t), 'data')
    assert.deepEqual(troubles(await doctor(directory)), [])
    await written(directory)
    const checks = await doctor(directory)
    assert.deepEqual(troubles(checks), [])
    assert.equal(named(checks, 'damage')?.message, 'none in 1 rows')
    assert.deepEqual(
      checks.map(({ name }) => name),
      ['node', 'config', 'clock', 'address', 'permissions', 'space', 'lock', 'schema', 'damage'],
    )
  })

  test('names damage and where it is; the repair it names makes it well', async (t) => {
    const directory = join(freshFolder(t), 'data')
    await written(directory)
    const file = join(directory, 'journal.db')
    const bytes = readFileSync(file)
    bytes.write('middle', bytes.indexOf('needle'))
    writeFileSync(file, bytes)

    const [damage, ...others] = troubles(await doctor(directory))
    assert.deepEqual(others, [])
    assert.equal(damage?.name, 'damage')
    assert.equal(damage.where, directory)
    assert.equal(damage.certainty, 'certain')
    assert.match(damage.message, /^\d+ findings, the first: /)
    await heal(damage)
    assert.deepEqual(troubles(await doctor(directory)), [])
  })

  test('says who has a directory; ending that process frees it', async (t) => {
    const directory = join(freshFolder(t), 'data')
    const door = join(import.meta.dirname, '../../src/journal/index.ts')
    const program = `import { sqliteJournal } from ${JSON.stringify(door)}
      await sqliteJournal({ directory: ${JSON.stringify(directory)} })
      process.stdin.resume()
      console.log('open')`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const gone = once(child, 'exit')
    await once(createInterface({ input: child.stdout }), 'line')

    const checks = await doctor(directory)
    const [lock, ...others] = troubles(checks)
    assert.deepEqual(others, [])
    assert.equal(lock?.name, 'lock')
    assert.equal(lock.command, `kill -TERM ${child.pid}`)
    assert.equal(lock.certainty, 'certain')
    assert.equal(named(checks, 'damage')?.status, 'skipped')
    await heal(lock)
    await gone
    assert.deepEqual(troubles(await doctor(directory)), [])
  })

  test('is content with a server of ours that is ready', async (t) => {
    const directory = join(freshFolder(t), 'data')
    const server = serving(t, '--data', directory, '--port', '0')
    const { port } = new URL(await server.url())
    const checks = await doctor(directory, '--set', `listen.port=${port}`)
    assert.deepEqual(troubles(checks), [])
    assert.match(named(checks, 'lock')?.message ?? '', /and is ready$/)
    assert.match(
      named(checks, 'address')?.message ?? '',
      new RegExp(`process ${server.child.pid}$`),
    )
  })

  test('says that a disk is full; what it would remove makes room', async (t) => {
    const disk = smallDisk(t)
    if (disk === undefined) return
    const directory = join(disk, 'data')
    await written(directory)
    const { original } = await repairDirectory(directory)
    const filler = Buffer.alloc(freeBytes(disk) - 2 ** 20)
    writeFileSync(join(original, 'larger'), filler)

    const checks = await doctor(directory)
    const [space, ...others] = troubles(checks)
    assert.deepEqual(others, [])
    assert.equal(space?.name, 'space')
    assert.equal(space.where, directory)
    assert.equal(space.command, `rm -r ${original}`)
    assert.equal(named(checks, 'damage')?.status, 'skipped')
    await heal(space)
    assert.deepEqual(troubles(await doctor(directory)), [])

    writeFileSync(join(disk, 'of somebody else'), filler)
    const [again] = troubles(await doctor(directory))
    assert.match(again?.command ?? '', /^du /)
    const listed = await shell(again!.command!)
    assert.match(listed.out, /of somebody else/)
  })

  test('says what else is wrong: config, address, clock, rights, versions', async (t) => {
    const parent = freshFolder(t)
    const directory = join(parent, 'data')
    await written(directory)

    const config = await doctor(directory, '--set', 'log.levl=x', 'listen.host=')
    assert.deepEqual(
      troubles(config).map(({ name, message }) => [name, message.split(':')[0]]),
      [
        ['config', 'log.levl'],
        ['config', 'listen.host'],
      ],
    )

    const other = createServer()
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening))
    t.after(() => other.close())
    const { port } = other.address() as AddressInfo
    const [taken] = troubles(await doctor(directory, '--set', `listen.port=${port}`))
    assert.equal(taken?.name, 'address')
    const [, free] = /serve --port (\d+)$/.exec(taken.command ?? '')!
    assert.deepEqual(troubles(await doctor(directory, '--set', `listen.port=${free}`)), [])

    const [open] = troubles(await doctor(directory, '--host', '0.0.0.0'))
    assert.match(open?.advice ?? '', /auth\.tokens/)

    const later = systemClock.now() / 1_000 + 3_600
    utimesSync(join(directory, 'journal.db'), later, later)
    const [clock] = troubles(await doctor(directory))
    assert.equal(clock?.name, 'clock')
    assert.equal(clock.certainty, 'likely')

    const newer = join(parent, 'newer')
    mkdirSync(newer)
    const bytes = readFileSync(join(directory, 'journal.db'))
    bytes.writeUInt32BE(99, 60) // where SQLite keeps the version of the user
    writeFileSync(join(newer, 'journal.db'), bytes)
    const [schema] = troubles(await doctor(newer))
    assert.match(schema?.message ?? '', /version 99, and this program knows \d+$/)

    writeFileSync(join(parent, 'file'), '')
    const [file] = troubles(await doctor(join(parent, 'file')))
    assert.equal(file?.message, 'it is not a directory')
  })

  test('says whose rights are missing, and the command gives them', async (t) => {
    if (process.getuid?.() === 0) {
      const parent = freshFolder(t)
      const directory = join(parent, 'data')
      await written(directory)
      chmodSync(directory, 0o500)
      execFileSync('chown', ['-R', '65534:65534', parent])
      const line = `${process.execPath} ${join(import.meta.dirname, '../../src/server/main.ts')} doctor --json --data ${directory} --port 0`
      const { out } = await shell(as(line))
      const { checks } = JSON.parse(out) as { checks: Check[] }
      const rights = checks.find(({ name }) => name === 'permissions')
      assert.equal(rights?.command, `chmod -R u+rwX ${directory}`)
      await shell(as(rights.command))
      const again = JSON.parse((await shell(as(line))).out) as { ok: boolean; checks: Check[] }
      assert.ok(again.ok, JSON.stringify(again.checks))
    } else {
      const directory = join(freshFolder(t), 'data')
      await written(directory)
      chmodSync(directory, 0o500)
      const [rights] = troubles(await doctor(directory))
      await heal(rights)
      assert.deepEqual(troubles(await doctor(directory)), [])
    }
  })
})
