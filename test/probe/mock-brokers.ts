/** Brokers for tests, as a process of their own: `mock-brokers.c`, compiled here. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

export interface MockBrokers extends AsyncDisposable {
  readonly bootstrapServers: string
  /** One of the commands that `mock-brokers.c` names. */
  command(line: string): Promise<void>
}

const SOURCE = join(import.meta.dirname, 'mock-brokers.c')

/** Compiled once for all. */
let program: Promise<string> | undefined

/** A text says why there are none. */
export async function mockBrokers(count = 1): Promise<MockBrokers | string> {
  if (!existsSync('/usr/include/librdkafka/rdkafka_mock.h'))
    return 'librdkafka-dev is not installed: test/probe/prepare-kafka.sh'
  const child = spawn(await (program ??= compile()), [String(count)], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const said = async (): Promise<string> => {
    const line = await lines.next()
    return line.done === true ? 'it has ended' : line.value
  }
  let last: Promise<unknown> = Promise.resolve()
  return {
    bootstrapServers: await said(),
    async command(line) {
      const answer = last.then(() => {
        child.stdin.write(`${line}\n`)
        return said()
      })
      last = answer
      const outcome = await answer
      if (outcome !== 'ok') throw new Error(`${line}: ${outcome}`)
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

async function compile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mock-brokers-'))
  process.on('exit', () => rmSync(directory, { recursive: true }))
  const compiled = join(directory, 'mock-brokers')
  await promisify(execFile)('gcc', ['-O1', '-o', compiled, SOURCE, '-lrdkafka'])
  return compiled
}
