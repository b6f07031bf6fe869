/** Storage as tests see it: a path says which of the stores is meant. */
import { unreachable } from '../../std/index.ts'
import { badPath } from './accidents.ts'
import { allowedDirectory, fetchLocal, readLocal, storeLocal, type LocalRoots } from './local.ts'
import { placeOf } from './place.ts'
import type { S3Store } from './s3.ts'
import type { BlockStorage } from './storage.ts'
import type { Uploads } from './uploads.ts'

export type StorageOptions = Readonly<{
  /** Undefined: there are no local bundles. */
  local: Readonly<{ roots: LocalRoots }> | undefined
  s3?: S3Store
  uploads?: Uploads
}>

export function createStorage({ local, s3, uploads }: StorageOptions): BlockStorage {
  return {
    async fetch(path, directory, options) {
      const place = placeOf(path)
      switch (place.type) {
        case 'local':
          return fetchLocal(path, await localDirectory(place.directory), directory, options)
        case 's3':
          if (s3 === undefined) throw badPath(path, 'the server has no S3 store')
          return s3.fetch(place, directory, options)
        case 'upload':
          return fetchLocal(path, uploadDirectory(path, place.id), directory, options)
        default:
          return unreachable(place)
      }
    },

    async store(path, directory, files, options) {
      const place = placeOf(path)
      switch (place.type) {
        case 'local':
          return storeLocal(path, await localDirectory(place.directory), directory, files, options)
        case 's3':
          if (s3 === undefined) throw badPath(path, 'the server has no S3 store')
          return s3.store(place, directory, files, options)
        case 'upload':
          return storeLocal(path, uploadDirectory(path, place.id), directory, files, options)
        default:
          return unreachable(place)
      }
    },

    async read(path, name, options) {
      const place = placeOf(path)
      switch (place.type) {
        case 'local':
          return readLocal(path, await localDirectory(place.directory), name)
        case 's3':
          if (s3 === undefined) throw badPath(path, 'the server has no S3 store')
          return s3.read(place, name, options)
        case 'upload':
          return readLocal(path, uploadDirectory(path, place.id), name)
        default:
          return unreachable(place)
      }
    },
  }

  async function localDirectory(directory: string): Promise<string> {
    if (local === undefined) throw badPath(directory, 'the server has no local bundles')
    return allowedDirectory(directory, local.roots)
  }

  function uploadDirectory(path: string, id: string): string {
    if (uploads === undefined) throw badPath(path, 'the server takes no uploads')
    return uploads.directoryOf(id)
  }
}
