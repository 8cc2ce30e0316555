import type { Scope } from '../credentials/oauth-grant'

/**
 * Who may do what in a workspace. This table is the only place that says so: a role or a right is added here, and each route below `/api` names
 * the right that it needs.
 */
export const RIGHTS = {
  /** Calls, costs and errors. */
  'usage:read': ['owner', 'admin', 'developer', 'billing', 'viewer'],
  /** To make calls from the dashboard and by apps. */
  'calls:make': ['owner', 'admin', 'developer'],
  'keys:read': ['owner', 'admin', 'developer', 'viewer'],
  'keys:write': ['owner', 'admin', 'developer'],
  /** The balance, payments and receipts. */
  'money:read': ['owner', 'admin', 'billing', 'viewer'],
  'money:write': ['owner', 'admin', 'billing'],
  'settings:read': ['owner', 'admin', 'viewer'],
  /** Webhooks, alerts, limits and the workspace's name. */
  'settings:write': ['owner', 'admin'],
  'audit:read': ['owner', 'admin', 'viewer'],
  'members:read': ['owner', 'admin', 'viewer'],
  'members:write': ['owner', 'admin'],
  /** To hand the workspace over, to export it as a whole, and to close it. */
  'workspace:own': ['owner'],
} as const satisfies Readonly<Record<string, readonly Role[]>>

export const ROLES = ['owner', 'admin', 'developer', 'billing', 'viewer'] as const
export type Role = (typeof ROLES)[number]
export type Right = keyof typeof RIGHTS
export const RIGHT_NAMES = Object.keys(RIGHTS) as Right[]

/** The roles that a member can be given. The owner's is handed over. */
export const GIVEN_ROLES = ['admin', 'developer', 'billing', 'viewer'] as const satisfies readonly Role[]

/** Roles that see and change only the keys that they made, and see only the calls of these and of their own apps. */
const SEES_OWN: readonly Role[] = ['developer']

/** What an app does on behalf of a member, who must still have the right. */
const SCOPE_RIGHTS: Readonly<Record<Scope, Right>> = {
  'data:read': 'calls:make',
  'social:write': 'calls:make',
  'apis:write': 'calls:make',
  'models:use': 'calls:make',
  'usage:read': 'usage:read',
  'keys:write': 'keys:write',
  'webhooks:write': 'settings:write',
  'wallet:topup': 'money:write',
}

/** The granted scopes that the role still allows. The same set, if it is all of them. */
export function scopesOf(role: Role, granted: ReadonlySet<Scope>): ReadonlySet<Scope> {
  const left = [...granted].filter((scope) => mayDo(role, SCOPE_RIGHTS[scope]))
  return left.length === granted.size ? granted : new Set(left)
}

export function mayDo(role: Role, right: Right): boolean {
  return RIGHTS[right].some((one) => one === role)
}

export function seesOnlyOwn(role: Role): boolean {
  return SEES_OWN.includes(role)
}

export function rightsOf(role: Role): Right[] {
  return RIGHT_NAMES.filter((right) => mayDo(role, right))
}

/** The member of a workspace who acts, also by an app. */
export interface ActingMember {
  readonly userId: string
  readonly role: Role
}

/** The member whose keys alone the caller sees; null for one who sees all. */
export function onlyOf(member: ActingMember | undefined): string | null {
  return member && seesOnlyOwn(member.role) ? member.userId : null
}
