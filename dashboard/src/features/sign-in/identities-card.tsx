import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { identitiesQuery, linkWith, providersQuery, unlinkIdentity } from '../../api/account/identities.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { ProviderProblem } from './provider-buttons.tsx'

/** The identities that sign the user in, to link and to unlink. Nothing where there are none and no provider. */
export function IdentitiesCard() {
  const queries = useQueryClient()
  const providers = useQuery(providersQuery).data?.providers ?? []
  const identities = useQuery(identitiesQuery).data?.identities ?? []
  const linking = useMutation({ mutationFn: linkWith })
  const unlinking = useMutation({
    mutationFn: unlinkIdentity,
    onSuccess: async () => {
      void toast(TEXT.identityUnlinked)
      await queries.invalidateQueries({ queryKey: identitiesQuery.queryKey })
    },
  })
  if (providers.length + identities.length === 0) return null
  return (
    <Card title={TEXT.identities}>
      <p className="text-muted">{TEXT.identitiesText}</p>
      <ProviderProblem />
      <ul className="grid gap-2">
        {identities.map(({ id, provider, linked_at: at }) => (
          <li key={id} className="flex flex-wrap items-center justify-between gap-3">
            <span>
              {provider.name}{' '}
              <span className="small text-muted">
                {TEXT.linked} <TimeAgo at={at} />
              </span>
            </span>
            <Button
              busy={unlinking.isPending && unlinking.variables === id}
              onClick={() => unlinking.mutate(id)}
              aria-label={TEXT.unlinkNamed(provider.name)}
            >
              {TEXT.unlink}
            </Button>
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        {providers.map(({ id, name }) => (
          <Button key={id} busy={linking.isPending && linking.variables === id} onClick={() => linking.mutate(id)}>
            {TEXT.linkNamed(name)}
          </Button>
        ))}
      </div>
      <FormFailure failure={failureFrom(linking) ?? failureFrom(unlinking)} />
    </Card>
  )
}
