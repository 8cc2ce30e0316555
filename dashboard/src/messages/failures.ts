/** What each failure code means to an owner, and what to do next. The server's own message stands where there is none. */
export interface FailureWords {
  readonly says: string
  /** The page that mends it, and what its button says. */
  readonly button?: { readonly says: string; readonly to: string }
}

const CREATE_KEY = { says: 'Create key', to: '/keys' }
const SEE_KEYS = { says: 'View keys', to: '/keys' }
const SEE_LIMITS = { says: 'View limits', to: '/limits' }
const TOP_UP = { says: 'Top up', to: '/billing' }
const LINK = { says: 'Link account', to: '/social' }

const NO_SOURCE: FailureWords = { says: 'The source did not answer well. Nothing was charged.' }

export const FAILURE_TEXT: Readonly<Record<string, FailureWords>> = {
  no_answer: { says: 'The server did not answer. Nothing was charged.' },
  missing_session: { says: 'Your session has ended. Sign in again.' },
  recent_sign_in_required: { says: 'This needs a recent sign-in. Enter your password again.' },
  invalid_api_key: { says: 'This key is not known. Check for a missing character.', button: CREATE_KEY },
  missing_api_key: { says: 'No key was sent. Add one to the Authorization header.', button: CREATE_KEY },
  api_key_disabled: { says: 'This key is switched off.', button: { says: 'Enable key', to: '/keys' } },
  expired_api_key: { says: 'This key has expired.', button: { says: 'Rotate key', to: '/keys' } },
  payment_required: {
    says: 'No key was sent. Add one, or pay for this one request.',
    button: { says: 'Add key', to: '/keys' },
  },
  insufficient_api_key_balance: {
    says: 'The key has used up its own limit.',
    button: { says: 'Raise limit', to: '/keys' },
  },
  insufficient_balance: { says: 'The balance is empty.', button: TOP_UP },
  recharge_required: { says: 'This model needs a first top-up. Signup credit does not cover it.', button: TOP_UP },
  ip_not_allowed: {
    says: "The request came from an address that is not in this key's list.",
    button: { says: 'Edit key', to: '/keys' },
  },
  insufficient_permissions: { says: "This is not in the key's list of allowed endpoints.", button: SEE_KEYS },
  insufficient_scope: {
    says: 'The linked account lacks a permission for this.',
    button: { ...LINK, says: 'Add permission' },
  },
  social_session_required: { says: 'No social account is linked to this key.', button: LINK },
  model_not_allowed: { says: "This model is not in the key's list.", button: SEE_KEYS },
  rate_limit_exceeded: { says: 'Too many requests for this key in this minute.', button: SEE_LIMITS },
  quota_exceeded: { says: "The key's budget for this period is used up.", button: SEE_KEYS },
  upstream_rate_limit: { says: 'The source is busy, not you.', button: SEE_LIMITS },
  foreign_origin: { says: 'This request came from another site and was refused.' },
  invalid_state: { says: 'This cannot be done any more: the key has changed meanwhile.' },
  resource_not_found: { says: 'It is not there any more.' },
  internal_error: { says: 'Something broke on our side. Nothing was charged.' },
  service_unavailable: { says: 'The server cannot take this now. Nothing was charged.' },
  upstream_error: NO_SOURCE,
  upstream_unavailable: NO_SOURCE,
  upstream_timeout: { says: 'The source took too long. Nothing was charged.' },
  estimated_price_exceeds_max_price: { says: 'The price is above the most you allowed. Nothing was charged.' },
  invalid_email_or_password: { says: 'Email or password is wrong.' },
  user_already_exists: { says: 'There is an account with this email. Sign in instead.' },
  user_already_exists_use_another_email: { says: 'There is an account with this email. Sign in instead.' },
  invalid_email: { says: 'This is not an email address.' },
  password_too_short: { says: 'The password needs 12 characters or more.' },
  password_too_long: { says: 'The password may have 256 characters at most.' },
}
