import { MIN_PASSWORD_LENGTH } from '../../../server/core/accounts/password.ts'
import { SIGNUP_CREDIT } from '../../../server/core/accounts/signup-credit.ts'
import { formatUsd } from '../../../server/core/money.ts'

/** Sign-in, sign-up and the first run. */
export const SIGN_IN_TEXT = {
  signIn: 'Sign in',
  signUp: 'Create account',
  email: 'Email',
  password: 'Password',
  passwordHint: `At least ${MIN_PASSWORD_LENGTH} characters.`,
  credit: `Includes $${formatUsd(SIGNUP_CREDIT)} of free credit. No card required.`,
  checkMail: 'Check your email',
  linkSentTo: (email: string) =>
    `We sent a link to ${email}. Open it within 24 hours to confirm your address and get your free credit, then sign in.`,
  accountDeleted: 'Your account was deleted. Your keys have stopped, and your data was removed.',
  continueWith: (name: string) => `Continue with ${name}`,
  providerFailed: 'The sign-in was not completed. Try again, or sign in another way.',
  providerProblems: {
    account_not_linked:
      'An account with this email address already exists. Sign in to it another way, then link this identity in Settings.',
    account_already_linked_to_different_user: 'This identity is already linked to another account.',
    email_not_found: 'The provider did not share an email address, which an account needs.',
    email_not_confirmed: 'Confirm your email address first. We sent you a link.',
    tenant_not_allowed: 'People of this organization cannot sign in here.',
    too_many_sign_ups: 'Too many sign-ups from this address. Try again in a minute.',
    access_denied: 'The provider was not allowed to sign you in.',
    link_without_session: 'You were signed out meanwhile. Sign in, then link again in Settings.',
    state_mismatch: 'This sign-in was begun in another browser, has expired or was already used. Try again.',
  },
  noAccount: "Don't have an account?",
  haveAccount: 'Already have an account?',
  forgot: 'Forgot your password?',
  emailNeeded: 'Enter your email address.',
  passwordNeeded: 'Enter your password.',
  passwordShort: `Use at least ${MIN_PASSWORD_LENGTH} characters.`,
  ended: 'Your session has ended',
  endedText: 'Sign in again to continue. Everything you entered on this page is kept.',
  again: 'Sign in again',
  recent: 'Confirm that it is you',
  recentText: 'This action requires a recent sign-in. Nothing has changed yet. Sign in, then try again.',
} as const
