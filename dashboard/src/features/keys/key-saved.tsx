import { useMutation, useQuery } from '@tanstack/react-query'
import { newestRequestsQuery } from '../../api/requests.ts'
import { runSample } from '../../api/run-sample.ts'
import { FIRST_RUN_TEXT } from '../../messages/first-run.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { firstRequest } from '../../sample.ts'
import { ArrivalLine } from '../../ui/arrival-line.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { KeyReveal } from '../../ui/key-reveal.tsx'
import { SampleTabs } from '../../ui/sample-tabs.tsx'
import type { MadeKey } from './key-form.tsx'

/** Shows a new key once. Neither Esc nor a press outside closes it: the key would be lost. */
export function KeySaved({ made, onClose }: { made: MadeKey; onClose: () => void }) {
  const arrived = useQuery(newestRequestsQuery(1, made.key.id)).data?.[0] ?? null
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
      <ArrivalLine arrived={arrived} />
      <DialogButtons>
        <Button tone="primary" onClick={onClose}>
          {TEXT.saved}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}
