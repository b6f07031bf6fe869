import { clusterConformance } from '../../../test/probe/cluster-conformance.ts'
import { freshId, systemClock } from '../../std/index.ts'
import { memoryClusters } from './memory.ts'

clusterConformance('a cluster in this process', {
  canCreate: true,
  async open() {
    const cluster = memoryClusters({ clock: systemClock }).open(undefined)
    return {
      cluster,
      credentials: { type: 'none' },
      async newTopic(partitions) {
        const topic = `topic-${freshId()}`
        await cluster.createTopic(topic, partitions, { type: 'none' })
        return topic
      },
      missingTopic: async () => `none-${freshId()}`,
    }
  },
})
