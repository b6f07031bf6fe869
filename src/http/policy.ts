/**
 * A policy: which permissions a role of a static token and a job of a JWT stand for.
 *
 * Permissions are words of the features that ask for them; here they are data. A policy file replaces
 * the default as a whole, so that a right that is not written down is not granted.
 */
import { listOf, shape, text, custom, type Shape } from './shape.ts'

export type Policy = Readonly<{
  roles: Readonly<Record<string, readonly string[]>>
  jobs: Readonly<Record<string, readonly string[]>>
}>

/** What a policy file may name. */
export const POLICY_NAMES_MAX = 1_000

const AUDITOR = ['stock:count:read', 'stock:level:read', 'stock:movement:read']
const KEEPER = [...AUDITOR, 'stock:count:write', 'stock:movement:write']
// Whoever may change what others may do is no safer with less of the stock. A backup is written to any
// place on the machine, so it stays with the role `admin`.
const ADMINISTRATOR = [
  'stock:*',
  'server:metrics:read',
  'job:permission:read',
  'job:permission:write',
]

export const defaultPolicy: Policy = {
  roles: {
    viewer: ['*:read'],
    operator: ['*:read', '*:write', '*:dispatch', 'queue:send', 'queue:receive'],
    admin: ['*'],
    'test-executor': ['test:run:read', 'test:run:write'],
    'test-admin': ['test:*'],
    'system-admin': ['*'],
  },
  jobs: {
    'Regional Stock Auditor': AUDITOR,
    'Store Stock Controller': KEEPER,
    'Warehouse Manager': KEEPER,
    'System Administrator': ADMINISTRATOR,
  },
}

const permissions: Shape<readonly string[]> = listOf(
  text({ min: 1, max: 128, pattern: /^(\*|(\*|[a-z-]+)(:[a-z-]+)*(:\*)?)$/ }),
  { max: POLICY_NAMES_MAX },
)

const byName: Shape<Readonly<Record<string, readonly string[]>>> = custom({
  schema: { type: 'object', additionalProperties: permissions.schema },
  expected: 'names, each with a list of permissions such as stock:count:read, *:read or stock:*',
  read(value) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value)
    if (entries.length > POLICY_NAMES_MAX) return undefined
    const read = entries.map(([name, list]) => [name, permissions.read(list, '', [])] as const)
    if (read.some(([, list]) => list === undefined)) return undefined
    return Object.fromEntries(read.map(([name, list]) => [name, list ?? []]))
  },
})

/** What a policy file must look like. */
export const policyShape: Shape<Policy> = shape({ roles: byName, jobs: byName }, { exact: true })

/** All that these roles stand for together; a role that the policy does not name stands for nothing. */
export function permissionsOfRoles(policy: Policy, roles: readonly string[]): string[] {
  return [...new Set(roles.flatMap((role) => granted(policy.roles, role)))]
}

export function permissionsOfJob(policy: Policy, job: string): readonly string[] {
  return granted(policy.jobs, job)
}

// A name from outside may be one that every object inherits.
function granted(
  from: Readonly<Record<string, readonly string[]>>,
  name: string,
): readonly string[] {
  return Object.hasOwn(from, name) ? (from[name] ?? []) : []
}
