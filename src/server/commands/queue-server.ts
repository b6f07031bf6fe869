/** The server whose queues a command is about: the one that is named, that has the data, or that the config describes. */
import { describeDirectory } from '../../journal/index.ts'
import { Accident, fault } from '../../std/index.ts'
import { askServer, readServer, type ServerRequest } from '../asking-server.ts'
import type { Asked } from '../cli.ts'
import { MEMORY, type Config } from '../config-keys.ts'
import { TOKEN_VARIABLE } from '../config.ts'
import { dataDirectory, readNote } from '../directory.ts'
import type { Io } from '../io.ts'

/** Where the queues are; the server says unless it is said here. */
export type QueuePlaceOptions = Readonly<{ url?: string; account?: string; region?: string }>

type Json = Readonly<Record<string, unknown>>

export interface QueueServer {
  /** What it answers. Throws `server-refused` or `server-unreachable`. */
  ask(
    method: ServerRequest['method'],
    path: string,
    sent?: Readonly<{
      body?: Json
      bytes?: ServerRequest['bytes']
      query?: Readonly<Record<string, unknown>>
      waitMs?: number
    }>,
  ): Promise<Json>
}

export interface TestServer extends QueueServer {
  /** Without a slash at its end. */
  readonly url: string
  /** A file of it, which has at most so many bytes. */
  read(path: string, bytesMax: number): AsyncIterable<Uint8Array>
}

const ANSWER_MS = 30_000
/** Messages may be large, and many may be asked for. */
const ANSWER_BYTES_MAX = 134_217_728

export function queueServer(
  { config: { config } }: Asked,
  { url, account, region }: QueuePlaceOptions,
  io: Io,
): TestServer {
  const base = (url ?? urlOf(config)).replace(/\/+$/, '')
  if (!base.startsWith('http://') || !URL.canParse(base))
    throw new Accident(
      fault('bad-usage', `${base} is not the address of a server`, {
        remedy: 'give one that begins with http://',
      }),
    )
  return {
    url: base,
    read: (path, bytesMax) =>
      readServer(`${base}${path}`, { token: io.environment[TOKEN_VARIABLE], bytesMax }),
    async ask(method, path, { body, bytes, query = {}, waitMs = 0 } = {}) {
      const fields = Object.entries({ account, region, ...query })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
      const full = `${base}${path}${fields.length === 0 ? '' : `?${fields.join('&')}`}`
      const said = await askServer(full, {
        method,
        ...(body !== undefined && { body }),
        bytes,
        token: io.environment[TOKEN_VARIABLE],
        deadlineMs: waitMs + ANSWER_MS,
        bytesMax: ANSWER_BYTES_MAX,
      })
      return typeof said === 'object' && said !== null ? { ...said } : {}
    },
  }
}

function urlOf(config: Config): string {
  const { 'listen.host': host, 'listen.port': port } = config
  if (config['data.directory'] !== MEMORY) {
    const directory = dataDirectory(config)
    const note = readNote(directory, describeDirectory(directory).holder)
    if (note !== undefined) return note.url
  }
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
