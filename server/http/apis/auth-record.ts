import type { UpstreamAuth } from '../../core/apis/api'
import type { GivenAuth, GivenSecret } from '../../core/apis/catalog/catalog-form'
import { checked } from '../openapi/json-schema'

const MAX_TEXT = 8_000
/** Shown for a secret in the database, and sent to keep it. */
const SEALED = 'sealed'
const RULE =
  'must be none, header:NAME=SECRET, query:NAME=SECRET, bearer:SECRET, basic:SECRET, oauth2:TOKEN_URL;client=ID;secret=SECRET or 402:PAYEE,PAYEE; SECRET is env:UPSTREAM_NAME or secret:TEXT'

/**
 * How the gateway authenticates to the upstream, as one text. Secrets of the database are written as `secret:TEXT` and never shown
 * again: they read `sealed`.
 */
export const AUTH = checked<string>(
  {
    type: 'string',
    maxLength: MAX_TEXT,
    description:
      "How the gateway authenticates to the upstream: `none`, `header:NAME=SECRET`, `query:NAME=SECRET`, `bearer:SECRET`, `basic:SECRET` (of `user:password`), `oauth2:TOKEN_URL;client=ID;scope=SCOPE;secret=SECRET`, or `402:PAYEE,PAYEE`: each call is paid for from the gateway's wallet, to one of these addresses. SECRET is `env:UPSTREAM_NAME`, a variable of the server, or `secret:TEXT`, which is sealed in the database and never shown again: it then reads `sealed`, and `sealed` keeps it.",
  },
  (value) => (typeof value === 'string' && parseAuth(value) ? null : RULE),
)

/** Reads an authentication, or null. */
export function parseAuth(text: string): GivenAuth | null {
  if (text.length > MAX_TEXT) return null
  if (text === 'none') return { kind: 'none' }
  if (text === '402') return { kind: '402', payees: [] }
  const [, kind = '', rest = ''] = /^([a-z0-9]+):(.+)$/s.exec(text) ?? []
  switch (kind) {
    case 'header':
    case 'query': {
      const [, name, secretText = ''] = /^([^=\s]+)=(.+)$/s.exec(rest) ?? []
      const secret = parseSecret(secretText)
      return name !== undefined && secret ? { kind, name, secret } : null
    }
    case 'bearer':
    case 'basic': {
      const secret = parseSecret(rest)
      return secret && { kind, secret }
    }
    case 'oauth2':
      return parseOAuth2(rest)
    case '402': {
      const payees = rest.split(',').map((payee) => payee.trim())
      return payees.every((payee) => /^[\w:.-]{1,200}$/.test(payee)) ? { kind, payees } : null
    }
    default:
      return null
  }
}

function parseOAuth2(text: string): GivenAuth | null {
  const [, tokenUrl = '', clientId, scope, secretText = ''] =
    /^([^;\s]+);client=([^;]+)(?:;scope=([^;]+))?;secret=(.+)$/s.exec(text) ?? []
  const secret = parseSecret(secretText)
  if (clientId === undefined || !secret || !URL.canParse(tokenUrl)) return null
  return { kind: 'oauth2', tokenUrl, clientId, scope: scope ?? null, secret }
}

function parseSecret(text: string): GivenSecret | null {
  if (text === SEALED) return { from: 'stored' }
  const [, source, value = ''] = /^(env|secret):(.+)$/s.exec(text) ?? []
  if (source === 'env') return { from: 'environment', name: value }
  // A secret goes into a header or a URL: no control characters, whatever the kind.
  return source === 'secret' && /^[\x20-\x7e]{1,4096}$/.test(value) ? { from: 'text', text: value } : null
}

/** An authentication as operators see it, without its secret. */
export function authText(auth: UpstreamAuth): string {
  switch (auth.kind) {
    case 'none':
      return 'none'
    case '402':
      return auth.payees.length > 0 ? `402:${auth.payees.join(',')}` : '402'
    case 'header':
    case 'query':
      return `${auth.kind}:${auth.name}=${secretText(auth.secret)}`
    case 'bearer':
    case 'basic':
      return `${auth.kind}:${secretText(auth.secret)}`
    case 'oauth2': {
      const scope = auth.scope === null ? '' : `;scope=${auth.scope}`
      return `oauth2:${auth.tokenUrl};client=${auth.clientId}${scope};secret=${secretText(auth.secret)}`
    }
  }
}

function secretText(secret: Extract<UpstreamAuth, { readonly secret: unknown }>['secret']): string {
  return secret.from === 'environment' ? `env:${secret.name}` : SEALED
}
