/**
 * Bundles in S3, or a store that speaks its protocol.
 *
 * Keys are listed below the prefix alone, page by page, and everything is judged before the first
 * download. Objects are streamed, several at a time; each request that fails for a reason that passes is
 * tried again by itself.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import type * as Sdk from '@aws-sdk/client-s3'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'

import { Accident, fault } from '../../std/index.ts'
import { isLeftOut, nameProblem } from '../bundle/file-name.ts'
import type { Trying } from '../trying.ts'
import { notFound, refusedFile, tooLarge } from './accidents.ts'
import { createIntake } from './intake.ts'
import { contentOf } from './local.ts'
import { s3Accident } from './s3-accident.ts'
import type { FetchOptions, StoreOptions } from './storage.ts'

export type S3Place = Readonly<{ bucket: string; prefix: string }>

export interface S3Store extends AsyncDisposable {
  fetch(place: S3Place, directory: string, options: FetchOptions): Promise<void>
  store(
    place: S3Place,
    directory: string,
    files: readonly string[],
    options: StoreOptions,
  ): Promise<void>
  read(place: S3Place, name: string, options: StoreOptions): Promise<AsyncIterable<Uint8Array>>
}

export type S3Options = Readonly<{
  region: string
  /** For a store other than Amazon's. */
  endpoint?: string
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  forcePathStyle?: boolean
  /** Undefined: the environment, the profile or the role of the machine. */
  credentials?: Readonly<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>
  trying: Trying
}>

export const S3_AT_ONCE_MAX = 8
export const S3_CONNECTING_MS_MAX = 5_000
/** Without a byte from the store. */
export const S3_SILENCE_MS_MAX = 30_000

/** Objects below one prefix, those that are no part of a bundle included. */
export const S3_LISTED_MAX = 100_000

const PAGE_KEYS = 1_000

/** One request, tried again where that may help. */
type Ask = <T>(
  place: S3Place,
  signal: AbortSignal,
  act: (s3: S3Client, sdk: typeof Sdk) => Promise<T>,
) => Promise<T>

export function createS3Store(options: S3Options): S3Store {
  const { trying } = options
  let client: S3Client | undefined

  return {
    async fetch(place, directory, { limits, signal }) {
      const intake = createIntake(directory, limits)
      const names: string[] = []
      for await (const { name, bytes } of objectsOf(ask, place, signal)) {
        if (isLeftOut(name) && nameProblem(name) === undefined) continue
        intake.announce(name, bytes)
        names.push(name)
      }
      if (names.length === 0) throw notFound(pathOf(place), 'there is no object below it')
      await eachOf(names, signal, (name, cancelled) =>
        ask(place, cancelled, async (s3, sdk) => {
          await intake.write(name, await objectAt(s3, sdk, place, name, cancelled), cancelled)
        }),
      )
    },

    async store(place, directory, files, { signal }) {
      files.forEach(checkName)
      await eachOf(files, signal, async (name, cancelled) => {
        const path = join(directory, name)
        await ask(place, cancelled, async (s3, { PutObjectCommand }) => {
          const { size } = await lstat(path)
          await s3.send(
            new PutObjectCommand({
              Bucket: place.bucket,
              Key: `${place.prefix}evidence/${name}`,
              // A stream of no length would be sent in chunks, which not every store takes.
              Body: size === 0 ? '' : Readable.from(contentOf(path, name), { objectMode: false }),
              ContentLength: size,
            }),
            { abortSignal: cancelled },
          )
        })
      })
    },

    async read(place, name, { signal }) {
      checkName(name)
      return ask(place, signal, (s3, sdk) => objectAt(s3, sdk, place, `evidence/${name}`, signal))
    },

    [Symbol.asyncDispose]() {
      client?.destroy()
      return Promise.resolve()
    },
  }

  function ask<T>(
    place: S3Place,
    signal: AbortSignal,
    act: (s3: S3Client, sdk: typeof Sdk) => Promise<T>,
  ): Promise<T> {
    return trying.run(
      's3',
      async () => {
        const sdk = await load()
        client ??= new sdk.S3Client(configOf(options))
        try {
          return await act(client, sdk)
        } catch (error) {
          signal.throwIfAborted()
          throw s3Accident(pathOf(place), error)
        }
      },
      { signal },
    )
  }
}

/** A page at a time; what is below the prefix and nothing else. */
async function* objectsOf(
  ask: Ask,
  place: S3Place,
  signal: AbortSignal,
): AsyncGenerator<Readonly<{ name: string; bytes: number }>> {
  let next: string | undefined
  let listed = 0
  do {
    const page = await ask(place, signal, (s3, { ListObjectsV2Command }) =>
      s3.send(
        new ListObjectsV2Command({
          Bucket: place.bucket,
          Prefix: place.prefix,
          MaxKeys: PAGE_KEYS,
          ContinuationToken: next,
        }),
        { abortSignal: signal },
      ),
    )
    listed += page.KeyCount ?? PAGE_KEYS
    if (listed > S3_LISTED_MAX)
      throw tooLarge('.', `there are more than ${S3_LISTED_MAX} objects below its prefix`)
    for (const { Key = '', Size = 0 } of page.Contents ?? []) {
      const name = Key.slice(place.prefix.length)
      if (name !== '' && !name.endsWith('/')) yield { name, bytes: Size } // else a folder of a console
    }
    next = page.NextContinuationToken
  } while (next !== undefined)
}

async function objectAt(
  s3: S3Client,
  { GetObjectCommand }: typeof Sdk,
  { bucket, prefix }: S3Place,
  name: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const get = new GetObjectCommand({ Bucket: bucket, Key: prefix + name })
  const { Body } = await s3.send(get, { abortSignal: signal })
  return Body instanceof Readable ? Body : Readable.from([])
}

function checkName(name: string): void {
  const problem = nameProblem(name)
  if (problem !== undefined) throw refusedFile(name, problem)
}

async function load(): Promise<typeof Sdk> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (cause) {
    throw new Accident(
      fault('missing-package', 'bundles in S3 need the package @aws-sdk/client-s3', {
        package: '@aws-sdk/client-s3',
        isTransient: false,
        remedy: 'npm install @aws-sdk/client-s3',
      }),
      { cause },
    )
  }
}

function configOf({ region, endpoint, forcePathStyle, credentials }: S3Options): S3ClientConfig {
  return {
    region,
    maxAttempts: 1, // `trying` tries again
    // Stores other than Amazon's do not all know the checksums that are the default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: S3_CONNECTING_MS_MAX, socketTimeout: S3_SILENCE_MS_MAX },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    ...(credentials === undefined ? {} : { credentials }),
  }
}

function pathOf({ bucket, prefix }: S3Place): string {
  return `s3://${bucket}/${prefix}`
}

/** Some at a time; the first failure ends the others, and is thrown when they have ended. */
async function eachOf(
  names: readonly string[],
  signal: AbortSignal,
  act: (name: string, cancelled: AbortSignal) => Promise<void>,
): Promise<void> {
  const failure = new AbortController()
  const cancelled = AbortSignal.any([signal, failure.signal])
  const left = names.values()
  const worker = async (): Promise<void> => {
    for (const name of left) {
      cancelled.throwIfAborted()
      await act(name, cancelled)
    }
  }
  const workers = Array.from({ length: S3_AT_ONCE_MAX }, () =>
    worker().catch((error: unknown) => failure.abort(error)),
  )
  await Promise.all(workers)
  cancelled.throwIfAborted()
}
