import { useMutation, useQuery } from '@tanstack/react-query'
import { failureFrom } from '../../api/client/failure.ts'
import { runSample } from '../../api/playground/try-call.ts'
import { newestRequestsQuery } from '../../api/requests.ts'
import { FIRST_RUN_TEXT } from '../../messages/first-run.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { firstRequest } from '../../sample.ts'
import { Button } from '../../ui/button.tsx'
import { KeyReveal } from '../../ui/code/key-reveal.tsx'
import { SampleTabs } from '../../ui/code/sample-tabs.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { FirstRequestStatus } from '../../ui/requests/first-request-status.tsx'
import type { CreatedKey } from './form/key-form.tsx'

/** Shows a new key once. Neither Escape nor a click outside closes it, because the key would be lost. */
export function NewKeyDialog({ made, onClose }: { made: CreatedKey; onClose: () => void }) {
  const newest = useQuery(newestRequestsQuery(1, made.key.id)).data?.[0] ?? null
  const sample = firstRequest({ secret: made.secret })
  const running = useMutation({ mutationFn: () => runSample(sample) })
  return (
    <Dialog title={TEXT.saveTitle} firm wide onClose={onClose}>
      <KeyReveal secret={made.secret} />
      <SampleTabs sample={sample}>
        <Button busy={running.isPending} onClick={() => running.mutate()}>
          {FIRST_RUN_TEXT.runHere}
        </Button>
      </SampleTabs>
      {newest === null && <FormFailure failure={failureFrom(running)} />}
      <FirstRequestStatus request={newest} />
      <DialogButtons>
        <Button tone="primary" onClick={onClose}>
          {TEXT.saved}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
