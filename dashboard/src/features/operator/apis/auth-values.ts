import { AUTH_TEXT as TEXT } from '../../../messages/upstream-auth.ts'

export const AUTH_KINDS = ['none', 'header', 'query', 'bearer', 'basic', 'oauth2', '402'] as const
type AuthKind = (typeof AUTH_KINDS)[number]

/** The values of the form of an authentication as entered. The secret is only in the memory of the form. */
export interface AuthValues {
  /** `keep`: as it is now, whatever that is. */
  readonly kind: AuthKind | 'keep'
  readonly name: string
  readonly from: 'text' | 'environment'
  readonly secret: string
  readonly variable: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly scope: string
  /** The addresses that may be paid, with commas between them. */
  readonly payees: string
}

export type AuthErrors = Partial<Record<keyof AuthValues, string>>

export function authValues(kind: AuthValues['kind']): AuthValues {
  const empty = { secret: '', variable: 'UPSTREAM_', tokenUrl: '', clientId: '', scope: '', payees: '' }
  return { kind, name: '', from: 'text', ...empty }
}

export function validateAuth(values: AuthValues): AuthErrors {
  const { kind, from } = values
  const errors: AuthErrors = {}
  if (kind === 'none' || kind === 'keep') return errors
  if (kind === '402') {
    if (!payeesIn(values).every((payee) => /^0x[0-9a-fA-F]{40}$/.test(payee))) errors.payees = TEXT.payeesWrong
    return errors
  }
  if ((kind === 'header' || kind === 'query') && !/^[\w.~-]+$/.test(values.name.trim())) errors.name = TEXT.nameNeeded
  if (kind === 'oauth2') {
    if (URL.parse(values.tokenUrl.trim())?.protocol !== 'https:') errors.tokenUrl = TEXT.tokenUrlWrong
    if (values.clientId.trim() === '') errors.clientId = TEXT.clientIdNeeded
  }
  if (from === 'text' && values.secret === '') errors.secret = TEXT.secretNeeded
  if (from === 'environment' && !/^UPSTREAM_[A-Z0-9_]+$/.test(values.variable.trim()))
    errors.variable = TEXT.variableWrong
  return errors
}

/** The authentication to send, of a valid form; undefined to keep it. */
export function toAuth(values: AuthValues): string | undefined {
  const { kind, name, from } = values
  const secret = from === 'text' ? `secret:${values.secret}` : `env:${values.variable.trim()}`
  switch (kind) {
    case 'keep':
      return undefined
    case 'none':
      return 'none'
    case 'header':
    case 'query':
      return `${kind}:${name.trim()}=${secret}`
    case 'bearer':
    case 'basic':
      return `${kind}:${secret}`
    case '402':
      return `402:${payeesIn(values).join(',')}`
    case 'oauth2': {
      const scope = values.scope.trim() === '' ? '' : `;scope=${values.scope.trim()}`
      return `oauth2:${values.tokenUrl.trim()};client=${values.clientId.trim()}${scope};secret=${secret}`
    }
  }
}

/** At least one, which may be empty. */
function payeesIn({ payees }: AuthValues): readonly string[] {
  return payees.trim().split(/[\s,]+/)
}
