import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keySocialQuery } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { Card } from '../../ui/layout/card.tsx'
import { SocialBadge } from './social-state.tsx'

/** The account that a key acts as. Renders nothing if no network is configured or the key is listed under its successor. */
export function KeyAccount({ keyId }: { keyId: string }) {
  const account = useQuery(keySocialQuery(keyId)).data
  if (!account) return null
  return (
    <Card
      title={TEXT.card}
      aside={
        <Link to="/social" className="text-accent">
          {TEXT.manage}
        </Link>
      }
    >
      <p className="flex flex-wrap items-center gap-3">
        <SocialBadge account={account} />
        {account.account && <span>{TEXT.actsAs(account.account.username, account.account.name)}</span>}
      </p>
    </Card>
  )
}
