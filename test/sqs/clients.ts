/**
 * Clients of Amazon SQS as others have made them, unchanged: Amazon's SDK for JavaScript as it is, the last of its
 * versions that spoke the query protocol, and boto3 in a process of its own. Asked and answering alike, in the
 * names and kinds of AWS JSON; bytes are `{ $bytes: base64 }`.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

import * as current from '@aws-sdk/client-sqs'
import * as beforeJson from 'client-sqs-query'

import type { Protocol } from './calls.ts'

export const MAKERS = ['js', 'boto3'] as const
export type Maker = (typeof MAKERS)[number]
export const SIGNINGS = ['signed', 'unsigned'] as const
export type Signing = (typeof SIGNINGS)[number]

export type ClientError = Readonly<{
  /** The class that a program catches. */
  name: string
  code: string
  message: string
  status: number
}>

// oxlint-disable-next-line typescript/no-explicit-any -- tests know what they asked for
export type Answered = Readonly<{ output?: any; error?: ClientError }>

export interface Client extends AsyncDisposable {
  /** What it is, for people. */
  readonly title: string
  /** Whether it speaks that protocol without being told how. */
  readonly isAsInstalled: boolean
  /** The actions it has. */
  readonly actions: ReadonlySet<string>
  ask(action: string, input?: Readonly<Record<string, unknown>>): Promise<Answered>
}

export type Wanted = Readonly<{
  maker: Maker
  protocol: Protocol
  signing: Signing
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}>

export function clientOf(wanted: Wanted): Promise<Client> {
  return wanted.maker === 'js' ? jsClient(wanted) : botoClient(wanted)
}

const VERSIONS: Readonly<Record<Protocol, string>> = {
  json: 'the SDK for JavaScript, current',
  query: 'the SDK for JavaScript, 3.445.0',
}

async function jsClient({
  protocol,
  signing,
  endpoint,
  region,
  ...credentials
}: Wanted): Promise<Client> {
  const settings = {
    endpoint,
    region,
    credentials,
    maxAttempts: 1,
    ...(signing === 'unsigned' && {
      signer: { sign: async <T>(request: T): Promise<T> => request },
    }),
  }
  // oxlint-disable typescript/no-unsafe-type-assertion -- two versions with the same commands
  const sdk = (protocol === 'json' ? current : beforeJson) as unknown as Sdk
  const client = new sdk.SQSClient(settings)
  return {
    title: VERSIONS[protocol],
    isAsInstalled: true,
    actions: new Set(Object.keys(sdk).flatMap((name) => /^(.+)Command$/.exec(name)?.[1] ?? [])),
    async ask(action, input = {}) {
      const Command = sdk[`${action}Command`] as SdkCommand
      try {
        const { $metadata: _, ...output } = await client.send(new Command(decoded(input)))
        return { output: encoded(output) }
      } catch (thrown) {
        return { error: jsError(sdk, thrown as JsError) }
      }
    },
    [Symbol.asyncDispose]: async () => client.destroy(),
  }
  // oxlint-enable typescript/no-unsafe-type-assertion
}

type SdkCommand = new (input: unknown) => object
type SdkClient = {
  send(command: object): Promise<Record<string, unknown>>
  destroy(): void
}
type Sdk = Readonly<Record<string, unknown>> & { SQSClient: new (settings: object) => SdkClient }

type JsError = Error & {
  Code?: string
  $metadata?: { httpStatusCode?: number }
  /** Of the query protocol, what it has read. */
  Error?: { Code?: string; Message?: string }
}

/** The name counts for a class only where the error is one of it. */
function jsError(sdk: Sdk, thrown: JsError): ClientError {
  const { name, message, $metadata } = thrown
  const Own = sdk[name]
  const isOwn = typeof Own === 'function' && thrown instanceof Own
  return {
    name: isOwn || Own === undefined ? name : `${name}, but not of its class`,
    code: thrown.Error?.Code ?? thrown.Code ?? name,
    message: thrown.Error?.Message ?? message,
    status: $metadata?.httpStatusCode ?? 0,
  }
}

function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded)
  if (typeof value !== 'object' || value === null) return value
  if ('$bytes' in value) return Buffer.from(String(value.$bytes), 'base64')
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, decoded(one)]))
}

function encoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encoded)
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, encoded(one)]))
}

/** Debian's, which is not always the first on the path; another one, to be compared with it, by the variable. */
const PYTHON = process.env['BOTO_PYTHON'] ?? '/usr/bin/python3'

type BotoHello = Readonly<{
  version: string
  protocols: readonly string[]
  speaks?: string
  actions?: readonly string[]
}>

async function botoClient(wanted: Wanted): Promise<Client> {
  const script = `${import.meta.dirname}/boto-client.py`
  const child = spawn(PYTHON, [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], AWS_EC2_METADATA_DISABLED: 'true' },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const asked = async (value: unknown): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(value)}\n`)
    const { done, value: line } = await lines.next()
    if (done === true) throw new Error('boto3 has ended; test/sqs/prepare.sh installs it')
    return JSON.parse(line)
  }
  // oxlint-disable typescript/no-unsafe-type-assertion -- our own script
  const { version, protocols, speaks, actions = [] } = (await asked(wanted)) as BotoHello
  if (speaks !== wanted.protocol) {
    child.kill()
    throw new Error(`boto3 ${version} speaks ${protocols.join()}, not ${wanted.protocol}`)
  }
  const isAsInstalled = protocols.includes(wanted.protocol)
  return {
    title: `boto3 ${version}${isAsInstalled ? '' : `, its model of SQS told to be ${speaks}`}`,
    isAsInstalled,
    actions: new Set(actions),
    ask: (action, input = {}) => asked({ action, input }) as Promise<Answered>,
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      if (child.exitCode === null) await new Promise((ended) => child.once('close', ended))
    },
  }
  // oxlint-enable typescript/no-unsafe-type-assertion
}
