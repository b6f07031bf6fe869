/** Packages that are installed only where they are used, loaded when they first are. */
import { Accident, fault } from '../../std/index.ts'

/** `load` imports the package by its literal name. */
export async function optionalPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (!isMissing(error, name)) throw error
    throw new Accident(
      fault('missing-package', `the package ${name} is not installed`, {
        package: name,
        isTransient: false,
        remedy: `npm install ${name}`,
      }),
      { cause: error },
    )
  }
}

function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.includes(`'${name}'`)
  )
}
