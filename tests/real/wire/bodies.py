"""Bodies of the requests that cases send often, with the usual values for what a case does not care about."""


def produce(topic, parts, acks=-1, transactional_id=None, timeout_ms=10_000):
    """`parts`: {partition: batch bytes}; `topic`: a name, or {"topic_id": ...} from v13 on."""
    named = topic if isinstance(topic, dict) else {"name": topic}
    data = [{"index": index, "records": records} for index, records in parts.items()]
    return {"transactional_id": transactional_id, "acks": acks, "timeout_ms": timeout_ms,
            "topic_data": [{**named, "partition_data": data}]}


def fetch(topic, offsets, max_wait_ms=0, min_bytes=1, max_bytes=10_000_000, partition_max_bytes=1_000_000, session=(0, -1),
          isolation_level=0, epoch=-1, **more):
    """`offsets`: {partition: offset}; `session`: (id, epoch); `topic`: a name, or {"topic_id": ...} from v13 on."""
    named = topic if isinstance(topic, dict) else {"topic": topic}
    partitions = [{"partition": partition, "fetch_offset": offset, "partition_max_bytes": partition_max_bytes,
                   "current_leader_epoch": epoch} for partition, offset in offsets.items()]
    return {"max_wait_ms": max_wait_ms, "min_bytes": min_bytes, "max_bytes": max_bytes, "session_id": session[0],
            "session_epoch": session[1], "isolation_level": isolation_level,
            "topics": [{**named, "partitions": partitions}] if offsets else [], **more}


def list_offsets(topic, times, isolation_level=0, epoch=-1):
    """`times`: [(partition, timestamp)]"""
    return {"replica_id": -1, "isolation_level": isolation_level,
            "topics": [{"name": topic, "partitions": [
                {"partition_index": partition, "timestamp": timestamp, "current_leader_epoch": epoch}
                for partition, timestamp in times]}]}


def create_topic(name, partitions=1, replicas=1, configs=None, assignments=()):
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas,
            "assignments": [{"partition_index": index, "broker_ids": list(ids)} for index, ids in assignments],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()]}


def create_topics(*topics, validate_only=False):
    return {"topics": list(topics), "timeout_ms": 10_000, "validate_only": validate_only}


def join(group, member="", protocols=(("range", b"m"),), protocol_type="consumer", session_timeout_ms=10_000,
         rebalance_timeout_ms=10_000, instance=None):
    return {"group_id": group, "session_timeout_ms": session_timeout_ms, "rebalance_timeout_ms": rebalance_timeout_ms,
            "member_id": member, "group_instance_id": instance, "protocol_type": protocol_type,
            "protocols": [{"name": name, "metadata": metadata} for name, metadata in protocols]}


def sync(group, member, generation, assignments=(), instance=None, protocol_type="consumer", protocol_name="range"):
    return {"group_id": group, "generation_id": generation, "member_id": member, "group_instance_id": instance,
            "protocol_type": protocol_type, "protocol_name": protocol_name,
            "assignments": [{"member_id": one, "assignment": content} for one, content in assignments]}


def beat(group, member, generation, instance=None):
    return {"group_id": group, "generation_id": generation, "member_id": member, "group_instance_id": instance}


def commit(group, topic, offsets, member="", generation=-1, epoch=-1, metadata="", instance=None):
    """`offsets`: {partition: offset}"""
    return {"group_id": group, "generation_id_or_member_epoch": generation, "member_id": member,
            "group_instance_id": instance, "retention_time_ms": -1,
            "topics": [{"name": topic, "partitions": [
                {"partition_index": partition, "committed_offset": offset, "committed_leader_epoch": epoch,
                 "committed_metadata": metadata} for partition, offset in offsets.items()]}]}


def offset_fetch(group, topic=None, partitions=()):
    """Up to v7; without a topic: all of the group."""
    topics = None if topic is None else [{"name": topic, "partition_indexes": list(partitions)}]
    return {"group_id": group, "topics": topics}
