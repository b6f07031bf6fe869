/**
 * What a storage path means.
 *
 *   /srv/bundles/orders, file:///srv/bundles/orders   a directory of this machine
 *   s3://bucket/prefix                                objects of a bucket, below the prefix
 *   upload:<id>                                       what was uploaded for that test
 */
import { isAbsolute, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

import { nameProblem } from '../bundle/file-name.ts'
import { badPath } from './accidents.ts'

export type Place =
  | Readonly<{ type: 'local'; directory: string }>
  | Readonly<{ type: 's3'; bucket: string; prefix: string }>
  | Readonly<{ type: 'upload'; id: string }>

export const STORAGE_PATH_CHARS_MAX = 2_048

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const UPLOAD_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

/** Throws a `StorageFault` when it is none of them. */
export function placeOf(path: string): Place {
  if (path.length > STORAGE_PATH_CHARS_MAX)
    throw badPath(path, `it has more than ${STORAGE_PATH_CHARS_MAX} characters`)
  if (path.includes('\0')) throw badPath(path, 'it has a NUL in it')
  const [, scheme = '', rest = ''] = /^([a-z0-9]+):(.*)$/s.exec(path) ?? []
  if (scheme === 's3') return s3Place(path, rest)
  if (scheme === 'upload') {
    if (!UPLOAD_ID.test(rest)) throw badPath(path, 'what follows upload: is no test id')
    return { type: 'upload', id: rest }
  }
  if (scheme !== '' && scheme !== 'file') throw badPath(path, `there is no ${scheme}: here`)
  const directory = scheme === 'file' ? fromUrl(path) : path
  if (!isAbsolute(directory)) throw badPath(path, 'it is not absolute')
  return { type: 'local', directory: normalize(directory) }
}

function s3Place(path: string, rest: string): Place {
  const [, bucket = '', prefix = ''] = /^\/\/([^/]*)\/?(.*?)\/?$/s.exec(rest) ?? []
  if (!BUCKET.test(bucket)) throw badPath(path, 'it has no bucket')
  const problem = prefix === '' ? undefined : nameProblem(prefix)
  if (problem !== undefined) throw badPath(path, problem)
  return { type: 's3', bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}

function fromUrl(path: string): string {
  try {
    if (path.startsWith('file://')) return fileURLToPath(path)
  } catch {
    // It names another machine, or has a slash in disguise.
  }
  throw badPath(path, 'it is no URL of a directory')
}
