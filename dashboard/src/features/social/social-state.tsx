import type { SocialAccount, SocialAccounts } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'

export type SocialState = keyof typeof TEXT.statuses

const TONES: Readonly<Record<SocialState, Tone>> = {
  linked: 'ok',
  missing: 'warn',
  waiting: 'accent',
  expired: 'warn',
  withdrawn: 'bad',
  refused: 'warn',
  failed: 'bad',
  none: 'neutral',
}

/** The status of a key's account. A pending link takes precedence over an account that was linked earlier. */
export function socialState({ state, link, missing_scope: missing }: SocialAccount): SocialState {
  if (link?.state === 'waiting') return 'waiting'
  if (state === 'revoked') return 'withdrawn'
  if (state === 'expired') return 'expired'
  if (state === 'linked') return missing === null ? 'linked' : 'missing'
  if (link?.state === 'expired') return 'expired'
  if (link?.state === 'denied') return 'refused'
  return link?.state === 'failed' ? 'failed' : 'none'
}

export function SocialBadge({ account }: { account: SocialAccount }) {
  const state = socialState(account)
  return <Badge tone={TONES[state]}>{TEXT.statuses[state]}</Badge>
}

/** The name of a permission. */
export function meaningOf(scopes: SocialAccounts['scopes'], name: string): string {
  return scopes.find((scope) => scope.name === name)?.meaning ?? name
}
