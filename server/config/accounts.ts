import type { SecondFactorPolicy } from '../core/accounts/identity'
import type { SignupBrakes } from '../core/accounts/signup-credit'
import { MICROS_PER_USD, micros } from '../core/money'
import { choice, flag, group, integer, type Read } from './schema/setting'

const MAX = 1_000_000

export const ACCOUNTS = group('Accounts and anonymous callers', '', {
  ANON_RPM: integer({
    default: 60,
    min: 1,
    max: MAX,
    doc: 'Requests per minute of an address without a known key',
  }),
  OWNER_RPM: integer({
    default: 2400,
    min: 100,
    max: MAX,
    doc: 'Units per minute of all sessions of an account together, and again of its keys and apps for free work: a read takes 1, a write 5, reports and exports more',
  }),
  VISITOR_RPM: integer({
    default: 600,
    min: 100,
    max: MAX,
    doc: 'The same units per minute of an address that is not signed in, for sign-in, OAuth and public pages',
  }),
  SIGNUP_RPM: integer({ default: 10, min: 1, max: MAX, doc: 'Sign-ups per minute of an address' }),
  REQUIRE_SECOND_FACTOR: choice({
    default: null,
    otherwise: 'nobody',
    values: ['operators', 'all'],
    doc: '`operators` or `all`: users who need a second factor (authenticator app or passkey) for actions that ask for a recent sign-in',
  }),
  SIGNUP_CREDIT_PER_NETWORK: integer({
    default: 10,
    min: 0,
    max: MAX,
    doc: 'Accounts of one network (/24 of IPv4, /48 of IPv6) that get signup credit within 24 hours. More accounts open without credit. Does not apply on this machine outside production',
  }),
  SIGNUP_CREDIT_DAILY_USD: integer({
    default: 200,
    min: 0,
    max: MAX,
    doc: 'Signup credit given within 24 hours in total, in USD',
  }),
  CREDIT_BUYS_PAID_PROVIDERS: flag({
    default: false,
    doc: 'Whether signup credit may pay for providers that cost the operator money. Otherwise an account that runs on credit uses the free providers in `WEBSEARCH_PROVIDER`',
  }),
})

export interface AccountsSettings {
  readonly anonymousRpm: number
  readonly ownerRpm: number
  readonly visitorRpm: number
  readonly signUpRpm: number
  readonly secondFactors: SecondFactorPolicy
  readonly signupBrakes: SignupBrakes
  /** Whether signup credit may pay for upstreams that cost the operator money. */
  readonly creditBuysPaidProviders: boolean
}

export function accountsSettings(read: Read): AccountsSettings {
  const { settings } = ACCOUNTS
  return {
    anonymousRpm: settings.ANON_RPM.of(read),
    ownerRpm: settings.OWNER_RPM.of(read),
    visitorRpm: settings.VISITOR_RPM.of(read),
    signUpRpm: settings.SIGNUP_RPM.of(read),
    secondFactors: settings.REQUIRE_SECOND_FACTOR.of(read) ?? 'nobody',
    signupBrakes: {
      perNetwork: settings.SIGNUP_CREDIT_PER_NETWORK.of(read),
      daily: micros(settings.SIGNUP_CREDIT_DAILY_USD.of(read) * MICROS_PER_USD),
    },
    creditBuysPaidProviders: settings.CREDIT_BUYS_PAID_PROVIDERS.of(read),
  }
}
