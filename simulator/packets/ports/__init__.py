"""Output ports of hosts and switches: queues, marks, drops, priorities, CoDel, shared buffers."""
