/**
 * A broker that lets nobody in without the right credentials, and creates and deletes topics: as much of
 * the protocol of Kafka as that takes, by its published description. It keeps no events.
 */
import { createHmac, createHash, pbkdf2Sync } from 'node:crypto'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

export type GuardedBrokerOptions = Readonly<{
  mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER'
  username: string
  /** Or the token. */
  password: string
  tls?: Readonly<{ key: string; cert: string }>
}>

export interface GuardedBroker extends AsyncDisposable {
  readonly bootstrapServers: string
  readonly topics: ReadonlyMap<string, number>
}

const METADATA = 3
const SASL_HANDSHAKE = 17
const API_VERSIONS = 18
const CREATE_TOPICS = 19
const DELETE_TOPICS = 20
const SASL_AUTHENTICATE = 36

/** The only version of each that is spoken. */
const VERSIONS = new Map([
  [METADATA, 1],
  [SASL_HANDSHAKE, 1],
  [API_VERSIONS, 0],
  [CREATE_TOPICS, 0],
  [DELETE_TOPICS, 0],
  [SASL_AUTHENTICATE, 0],
])

const NO_SUCH_TOPIC = 3
const NO_SUCH_MECHANISM = 33
const NOT_SUPPORTED = 35
const TOPIC_EXISTS = 36
const DENIED = 58

export async function guardedBroker(options: GuardedBrokerOptions): Promise<GuardedBroker> {
  const topics = new Map<string, number>()
  const sockets = new Set<Socket>()
  const onSocket = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    converse(socket, options, topics, () => port)
  }
  const server =
    options.tls === undefined ? createServer(onSocket) : createTlsServer(options.tls, onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    bootstrapServers: `127.0.0.1:${port}`,
    topics,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function converse(
  socket: Socket,
  options: GuardedBrokerOptions,
  topics: Map<string, number>,
  port: () => number,
): void {
  let pending: Buffer = Buffer.alloc(0)
  let isIn = false
  const judge = judgeOf(options)
  socket.on('data', (data) => {
    pending = Buffer.concat([pending, data])
    while (pending.length >= 4 && pending.length >= 4 + pending.readInt32BE()) {
      const size = pending.readInt32BE()
      const request = new Reader(pending.subarray(4, 4 + size))
      pending = pending.subarray(4 + size)
      const [api, version, correlation] = [request.int16(), request.int16(), request.int32()]
      request.text() // the id of the client
      const body = answer(api, version, request)
      const head = Buffer.alloc(8)
      head.writeInt32BE(body.length + 4)
      head.writeInt32BE(correlation, 4)
      socket.write(Buffer.concat([head, body]))
    }
  })

  function answer(api: number, version: number, request: Reader): Buffer {
    if (api === API_VERSIONS && version !== 0)
      return Buffer.concat([int16(NOT_SUPPORTED), int32(0), int32(0)])
    if (api === API_VERSIONS)
      return Buffer.concat([
        int16(0),
        list([...VERSIONS].map(([key, only]) => Buffer.concat([key, only, only].map(int16)))),
      ])
    if (api === SASL_HANDSHAKE) {
      const isKnown = request.text() === options.mechanism
      return Buffer.concat([
        int16(isKnown ? 0 : NO_SUCH_MECHANISM),
        list([text(options.mechanism)]),
      ])
    }
    if (api === SASL_AUTHENTICATE) {
      const said = judge(request.bytes().toString())
      isIn = said?.isLast ?? false
      if (said === undefined) return Buffer.concat([int16(DENIED), text('not you'), int32(0)])
      const bytes = Buffer.from(said.text)
      return Buffer.concat([int16(0), int16(-1), int32(bytes.length), bytes])
    }
    if (!isIn) socket.destroy()
    if (api === METADATA) return metadata(request.list(() => request.text()))
    const names = request.list(() => named(api, request))
    return list(
      names.map(({ name, partitions }) =>
        Buffer.concat([text(name), int16(change(name, partitions))]),
      ),
    )
  }

  function change(name: string, partitions: number | undefined): number {
    if (partitions === undefined) return topics.delete(name) ? 0 : NO_SUCH_TOPIC
    if (topics.has(name)) return TOPIC_EXISTS
    topics.set(name, partitions)
    return 0
  }

  function metadata(names: readonly string[]): Buffer {
    const broker = Buffer.concat([int32(1), text('127.0.0.1'), int32(port()), int16(-1)])
    const described = names.map((name) => {
      const partitions = Array.from({ length: topics.get(name) ?? 0 }, (_, at) =>
        Buffer.concat([int16(0), int32(at), int32(1), list([int32(1)]), list([int32(1)])]),
      )
      const error = topics.has(name) ? 0 : NO_SUCH_TOPIC
      return Buffer.concat([int16(error), text(name), Buffer.from([0]), list(partitions)])
    })
    return Buffer.concat([list([broker]), int32(1), list(described)])
  }
}

function named(api: number, request: Reader): { name: string; partitions: number | undefined } {
  const name = request.text()
  if (api !== CREATE_TOPICS) return { name, partitions: undefined }
  const partitions = request.int32()
  request.int16() // replicas
  request.list(() => assertNone())
  request.list(() => assertNone())
  return { name, partitions }
}

type Said = Readonly<{ text: string; isLast: boolean }>

/** Undefined turns somebody away. */
function judgeOf({
  mechanism,
  username,
  password,
}: GuardedBrokerOptions): (said: string) => Said | undefined {
  const welcome = { text: '', isLast: true }
  if (mechanism === 'PLAIN')
    return (said) => (said.endsWith(`\0${username}\0${password}`) ? welcome : undefined)
  if (mechanism === 'OAUTHBEARER')
    return (said) => (said.includes(`auth=Bearer ${password}\u0001`) ? welcome : undefined)
  return scram(mechanism === 'SCRAM-SHA-256' ? 'sha256' : 'sha512', username, password)
}

/** RFC 5802, as a server. */
function scram(
  hash: string,
  username: string,
  password: string,
): (said: string) => Said | undefined {
  const salt = Buffer.from('salt of the earth')
  const salted = pbkdf2Sync(password, salt, 4_096, hash === 'sha256' ? 32 : 64, hash)
  const hmac = (key: Buffer, data: string): Buffer => createHmac(hash, key).update(data).digest()
  let first = ''
  let greeting = ''
  return (said) => {
    if (greeting === '') {
      first = said.slice('n,,'.length)
      const nonce = /,r=([^,]+)/.exec(first)?.[1]
      if (!first.startsWith(`n=${username},`)) return undefined
      greeting = `r=${nonce}more,s=${salt.toString('base64')},i=4096`
      return { text: greeting, isLast: false }
    }
    const [withoutProof = '', proof = ''] = said.split(',p=')
    const all = `${first},${greeting},${withoutProof}`
    const clientKey = hmac(salted, 'Client Key')
    const storedKey = createHash(hash).update(clientKey).digest()
    const signature = hmac(storedKey, all)
    const expected = clientKey.map((byte, at) => byte ^ signature[at]!)
    if (Buffer.from(proof, 'base64').compare(expected) !== 0) return undefined
    return { text: `v=${hmac(hmac(salted, 'Server Key'), all).toString('base64')}`, isLast: true }
  }
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  int16(): number {
    this.#at += 2
    return this.#bytes.readInt16BE(this.#at - 2)
  }

  int32(): number {
    this.#at += 4
    return this.#bytes.readInt32BE(this.#at - 4)
  }

  text(): string {
    const length = Math.max(this.int16(), 0)
    this.#at += length
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }

  bytes(): Buffer {
    const length = this.int32()
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  list<T>(one: () => T): T[] {
    return Array.from({ length: Math.max(this.int32(), 0) }, one)
  }
}

function assertNone(): never {
  throw new Error('no assignments and no settings are expected')
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([int16(bytes.length), bytes])
}

function list(items: readonly Buffer[]): Buffer {
  return Buffer.concat([int32(items.length), ...items])
}
