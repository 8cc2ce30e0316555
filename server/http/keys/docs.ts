import type { EndpointDocs, RouteDocs } from '../openapi/documented'
import { BODY_FAILURES, OWNER_FAILURES, WRITE_FAILURES } from '../openapi/owner-failures'
import { KeyHistory, KeyNames } from './key-history'
import { KEY_EXAMPLE, KeyChange, KeyPage, KeyWithSecret, NewKey, OneKey, Rotation } from './record'

const SECRET = { key: KEY_EXAMPLE, secret: `gwk_${'3o'.padEnd(45, 'x')}UYRQ` }
const ID = { id: { description: 'Id of a key of yours.', example: KEY_EXAMPLE.id } }
const CHANGED = {
  200: { description: 'The key as it is now.', schema: OneKey, examples: { key: { key: KEY_EXAMPLE } } },
}
const MADE = {
  201: { description: 'The key, and its secret.', schema: KeyWithSecret, examples: { made: SECRET } },
}
const BINDS = 'It binds the next request that begins after this call has returned.'

export const KEY_DOCS = {
  list: {
    id: 'listKeys',
    tag: 'Keys',
    summary: 'List keys',
    description:
      'Your keys, newest first unless sorted otherwise. Revoked keys are listed only with `status=revoked`. `counts` are of all keys that `q` finds.',
    access: 'session',
    answers: {
      200: {
        description: 'A page of keys.',
        schema: KeyPage,
        examples: {
          page: {
            keys: [KEY_EXAMPLE],
            counts: { active: 1, disabled: 0, expired: 0, exhausted: 0, revoked: 0 },
            next_cursor: null,
          },
        },
      },
    },
    failures: ['invalid_parameter', ...OWNER_FAILURES],
  },
  create: {
    id: 'createKey',
    tag: 'Keys',
    summary: 'Create a key',
    description: 'Makes a key. Its secret is in this answer and is never shown again.',
    access: 'session',
    body: {
      description: 'The settings of the key.',
      schema: NewKey,
      required: true,
      examples: {
        limited: { name: 'My first key', spending_limit: 1 },
        restricted: {
          name: 'Production server',
          spending_limit: 25,
          allowed_ips: ['203.0.113.7', '2001:db8::/32'],
          allowed_endpoints: ['image-search'],
          rpm_limit: 30,
          budget: { limit_usd: 5, period: 'day', timezone: 'Europe/Berlin' },
        },
      },
    },
    answers: MADE,
    failures: ['missing_parameter', 'limit_reached', ...BODY_FAILURES, ...WRITE_FAILURES, 'recent_sign_in_required'],
  },
  names: {
    id: 'listKeyNames',
    tag: 'Keys',
    summary: 'Names of keys and apps',
    description: 'What every key and every connected app you ever had is called, to tell what the ids of reports mean.',
    access: 'session',
    answers: {
      200: {
        description: 'Every key and app.',
        schema: KeyNames,
        examples: {
          names: {
            names: [
              { id: KEY_EXAMPLE.id, kind: 'key', name: KEY_EXAMPLE.name, last4: KEY_EXAMPLE.last4, revoked: false },
              {
                id: 'conn_01a1fdfa942070018c603d2632ddc21c',
                kind: 'app',
                name: 'My agent',
                last4: null,
                revoked: true,
              },
            ],
          },
        },
      },
    },
    failures: OWNER_FAILURES,
  },
  history: {
    id: 'keyHistory',
    tag: 'Keys',
    summary: 'History of a key',
    description: 'What was done to a key, newest first: when, by whom, from which address.',
    access: 'session',
    ids: ID,
    answers: {
      200: {
        description: 'A page of changes.',
        schema: KeyHistory,
        examples: {
          page: {
            history: [
              {
                id: 'audit_01a1fdfa942070018c603d2632ddc21e',
                at: '2026-11-21T08:56:28.490Z',
                action: 'create',
                by: 'owner',
                ip: '203.0.113.7',
                settings: ['name', 'spending_limit'],
                successor: null,
              },
            ],
            next_cursor: null,
          },
        },
      },
    },
    failures: ['invalid_parameter', 'resource_not_found', ...OWNER_FAILURES],
  },
  get: {
    id: 'getKey',
    tag: 'Keys',
    summary: 'Get a key',
    description: 'One key as it is now, with what it has spent.',
    access: 'session',
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found', ...OWNER_FAILURES],
  },
  change: {
    id: 'changeKey',
    tag: 'Keys',
    summary: 'Change a key',
    description: `Changes what is sent and leaves the rest. Raising the limit of an exhausted key makes it active at once; lowering it below what is spent stops the key at once. ${BINDS}`,
    access: 'session',
    ids: ID,
    body: {
      description: 'The settings to change.',
      schema: KeyChange,
      required: true,
      examples: { raise: { spending_limit: 5 }, rename: { name: 'Staging server', allowed_ips: [] } },
    },
    answers: CHANGED,
    failures: ['resource_not_found', 'invalid_state', ...BODY_FAILURES, ...WRITE_FAILURES],
  },
  rotate: {
    id: 'rotateKey',
    tag: 'Keys',
    summary: 'Rotate a key',
    description:
      'Makes a successor with the same settings, the same limit and the same spent amount. The old key works until its grace period is over, and is revoked then.',
    access: 'session',
    ids: ID,
    body: {
      description: 'How long the old key goes on working; a day when nothing is sent.',
      schema: Rotation,
      required: false,
      examples: { hour: { grace_period_seconds: 3600 }, leaked: { grace_period_seconds: 0 } },
    },
    answers: MADE,
    failures: [
      'resource_not_found',
      'invalid_state',
      'limit_reached',
      ...BODY_FAILURES,
      ...WRITE_FAILURES,
      'recent_sign_in_required',
    ],
  },
  disable: {
    id: 'disableKey',
    tag: 'Keys',
    summary: 'Disable a key',
    description: `Switches a key off. Free to repeat. ${BINDS}`,
    access: 'session',
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found', 'invalid_state', ...WRITE_FAILURES],
  },
  enable: {
    id: 'enableKey',
    tag: 'Keys',
    summary: 'Enable a key',
    description: 'Switches a disabled key on again. Free to repeat.',
    access: 'session',
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found', 'invalid_state', ...WRITE_FAILURES],
  },
  revoke: {
    id: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke a key',
    description: `Ends a key for good; its usage stays. Free to repeat. ${BINDS}`,
    access: 'session',
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found', ...WRITE_FAILURES, 'recent_sign_in_required'],
  },
} as const satisfies Record<string, RouteDocs>

/** What apps do to keys; what the dashboard alone needs is not among it. */
export type Mirrored = Exclude<keyof typeof KEY_DOCS, 'history' | 'names'>

/** The same operations at `/v1/keys`, for apps. */
export const APP_KEY_DOCS: Record<Mirrored, EndpointDocs> = {
  ...KEY_DOCS,
  create: {
    ...KEY_DOCS.create,
    body: { ...KEY_DOCS.create.body, examples: { limited: { name: 'Made by an app', spending_limit: 1 } } },
  },
}
