/**
 * The port to where bundles come from and evidence goes to.
 *
 * A bundle is fetched into a directory of the test's own, and evidence is stored from there below
 * `evidence/` at the place the bundle came from. Paths inside are relative, with `/` between their parts.
 */
import type { Fault } from '../../std/index.ts'

export type StorageFaultCode =
  | 'bad-storage-path'
  | 'bundle-not-found'
  | 'bundle-too-large'
  | 'bundle-file-refused'
  | 'storage-denied'
  | 'storage-unavailable'

/** Carried by an `Accident`; `detail.isTransient` says whether trying again may help. */
export type StorageFault = Fault<StorageFaultCode>

export type BundleLimits = Readonly<{ files: number; fileBytes: number; totalBytes: number }>

export interface BlockStorage {
  /** Copies the files of a bundle below `directory`, except its `evidence/`. */
  fetch(path: string, directory: string, options: FetchOptions): Promise<void>
  /** Stores files of `directory` as `evidence/…`, over what was there. */
  store(
    path: string,
    directory: string,
    files: readonly string[],
    options: StoreOptions,
  ): Promise<void>
  /** A file of the evidence. */
  read(path: string, name: string, options: StoreOptions): Promise<AsyncIterable<Uint8Array>>
}

export type FetchOptions = Readonly<{ limits: BundleLimits; signal: AbortSignal }>
export type StoreOptions = Readonly<{ signal: AbortSignal }>
