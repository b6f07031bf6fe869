import type { Route } from './route.ts'

export function docsRoutes(
  _routes: readonly Route[],
  _info: Readonly<{ title: string; version: string }>,
): readonly Route[] {
  return []
}
