/** What goes wrong with storage, each as the accident that its port promises. */
import { Accident, fault } from '../../std/index.ts'
import { shownName } from '../bundle/file-name.ts'
import type { StorageFaultCode } from './storage.ts'

export type StorageAccident = Accident<StorageFaultCode>

const CODES: Readonly<Record<StorageFaultCode, true>> = {
  'bad-storage-path': true,
  'bundle-not-found': true,
  'bundle-too-large': true,
  'bundle-file-refused': true,
  'storage-denied': true,
  'storage-unavailable': true,
}

export function isStorageAccident(error: unknown): error is StorageAccident {
  return error instanceof Accident && Object.hasOwn(CODES, error.code)
}

export function badPath(path: string, why: string): StorageAccident {
  return new Accident(
    fault('bad-storage-path', `${shownName(path)} is no place for a bundle: ${why}`, {
      path: shownName(path),
      isTransient: false,
      remedy: 'name an absolute directory, s3://bucket/prefix, or upload:<test id>',
    }),
  )
}

export function notFound(path: string, why: string): StorageAccident {
  return new Accident(
    fault('bundle-not-found', `there is no bundle at ${shownName(path)}: ${why}`, {
      path: shownName(path),
      isTransient: false,
      remedy: 'put the bundle there, or mend the path',
    }),
  )
}

/** `file` is the name of one file, or `.` for the bundle as a whole. */
export function tooLarge(file: string, why: string): StorageAccident {
  return new Accident(
    fault('bundle-too-large', `${file === '.' ? 'the bundle' : shownName(file)}: ${why}`, {
      file: shownName(file),
      isTransient: false,
      remedy: 'put less into the bundle, or let the server take more',
    }),
  )
}

export function refusedFile(file: string, why: string): StorageAccident {
  return new Accident(
    fault('bundle-file-refused', `${shownName(file)}: ${why}`, {
      file: shownName(file),
      isTransient: false,
      remedy: 'a bundle has plain files and directories only, each name once',
    }),
  )
}

export function denied(path: string, cause: unknown): StorageAccident {
  return new Accident(
    fault('storage-denied', `the server may not use ${shownName(path)}`, {
      path: shownName(path),
      isTransient: false,
      remedy: 'give the user or the key of the server the right to read and write there',
    }),
    { cause },
  )
}

export function unavailable(path: string, cause: unknown, isTransient = true): StorageAccident {
  return new Accident(
    fault('storage-unavailable', `${shownName(path)} cannot be reached: ${reasonOf(cause)}`, {
      path: shownName(path),
      isTransient,
      remedy: 'see whether the store is up and has room',
    }),
    { cause },
  )
}

/** What an error of the file system means for a bundle. */
export function ofFiles(path: string, error: unknown): unknown {
  switch (codeOf(error)) {
    case 'ENOENT':
      return notFound(path, 'there is nothing of that name')
    case 'ENOTDIR':
      return badPath(path, 'it is no directory')
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return denied(path, error)
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EIO':
    case 'EMFILE':
    case 'ENFILE':
      return unavailable(path, error)
    default:
      return error
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function reasonOf(cause: unknown): string {
  if (cause instanceof Error) return codeOf(cause) || cause.name
  return typeof cause === 'string' ? cause : 'no reason is known'
}
