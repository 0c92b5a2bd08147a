// One bottleneck in ns-3, to compare the packet simulator with: TCP flows between two switches, or
// UDP packets at given times. The program prints one line of JSON.
//
// Compiled by test_ns3.py against the ns-3 that the test finds; see requirements/ns3.txt.

#include <fstream>
#include <iostream>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

struct Settings
{
    std::string transport = "TcpNewReno";
    std::string queue = "fifo";
    std::string arrivals;
    uint32_t flows = 1;
    double rateMbps = 100;
    double delayMs = 5;
    double seconds = 10;
    double warmUp = 2;
    uint32_t packets = 100;
    double threshold = 20;
};

std::vector<uint64_t> g_atWarmUp;
double g_queueSum = 0;
uint32_t g_queueSamples = 0;

void
SampleQueue(Ptr<QueueDisc> disc, Time until)
{
    g_queueSum += disc->GetNPackets();
    g_queueSamples += 1;
    if (Simulator::Now() < until)
    {
        Simulator::Schedule(MilliSeconds(1), &SampleQueue, disc, until);
    }
}

void
RememberBytes(std::vector<Ptr<PacketSink>>* sinks)
{
    for (const auto& sink : *sinks)
    {
        g_atWarmUp.push_back(sink->GetTotalRx());
    }
}

void
ConfigureTcp(const Settings& s)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + s.transport));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    // When recovery begins, proportional rate reduction of ns-3 sends two packets more than RFC 6937
    // allows. A full queue drops them, and the window is reduced twice for one loss.
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    // The packet simulator has no HyStart.
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
    if (s.transport == "TcpDctcp")
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    }
}

Ptr<QueueDisc>
InstallQueue(const Settings& s, Ptr<NetDevice> device)
{
    TrafficControlHelper traffic;
    std::string size = std::to_string(s.packets) + "p";
    if (s.queue == "codel")
    {
        traffic.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", StringValue(size));
    }
    else if (s.queue == "red")
    {
        traffic.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", StringValue(size),
                                 "UseEcn", BooleanValue(true),
                                 "UseHardDrop", BooleanValue(false),
                                 "QW", DoubleValue(1.0),
                                 // Marks each packet above the threshold, instead of a share.
                                 "Gentle", BooleanValue(false),
                                 "MeanPktSize", UintegerValue(1500),
                                 "MinTh", DoubleValue(s.threshold - 0.01),
                                 "MaxTh", DoubleValue(s.threshold));
    }
    else
    {
        traffic.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(size));
    }
    return traffic.Install(device).Get(0);
}

void
RunTcp(const Settings& s)
{
    ConfigureTcp(s);
    NodeContainer left(s.flows), right(s.flows), switches(2);
    InternetStackHelper stack;
    stack.Install(left);
    stack.Install(right);
    stack.Install(switches);
    PointToPointHelper edge;
    edge.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(1e7 * s.rateMbps))));
    edge.SetChannelAttribute("Delay", TimeValue(MicroSeconds(10)));
    PointToPointHelper middle;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(1e6 * s.rateMbps))));
    middle.SetChannelAttribute("Delay", TimeValue(Seconds(s.delayMs / 1000)));
    middle.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer bottleneck = middle.Install(switches);
    Ptr<QueueDisc> disc = InstallQueue(s, bottleneck.Get(0));
    Ipv4AddressHelper address;
    address.SetBase("10.1.0.0", "255.255.255.0");
    address.Assign(bottleneck);
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < s.flows; ++i)
    {
        address.NewNetwork();
        address.Assign(edge.Install(left.Get(i), switches.Get(0)));
        address.NewNetwork();
        Ipv4InterfaceContainer to = address.Assign(edge.Install(switches.Get(1), right.Get(i)));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        ApplicationContainer received = sink.Install(right.Get(i));
        received.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(received.Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(to.GetAddress(1), 9));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        ApplicationContainer sent = bulk.Install(left.Get(i));
        sent.Start(Seconds(0.01 * i));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Seconds(s.warmUp), &RememberBytes, &sinks);
    Simulator::Schedule(Seconds(s.warmUp), &SampleQueue, disc, Seconds(s.seconds));
    Simulator::Stop(Seconds(s.seconds));
    Simulator::Run();
    std::cout << "{\"goodput_mbps\": [";
    for (uint32_t i = 0; i < s.flows; ++i)
    {
        double bytes = sinks[i]->GetTotalRx() - g_atWarmUp[i];
        std::cout << (i ? ", " : "") << 8e-6 * bytes / (s.seconds - s.warmUp);
    }
    QueueDisc::Stats stats = disc->GetStats();
    std::cout << "], \"queue_packets\": " << g_queueSum / g_queueSamples
              << ", \"dropped\": " << stats.nTotalDroppedPackets
              << ", \"marked\": " << stats.nTotalMarkedPackets << "}" << std::endl;
}

std::vector<double> g_delays;

void
SendPacket(Ptr<Socket> socket, uint32_t size, uint32_t number)
{
    SeqTsHeader header;
    header.SetSeq(number);
    Ptr<Packet> packet = Create<Packet>(size - header.GetSerializedSize());
    packet->AddHeader(header);
    socket->Send(packet);
}

void
ReceivePackets(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        SeqTsHeader header;
        packet->RemoveHeader(header);
        g_delays[header.GetSeq()] = (Simulator::Now() - header.GetTs()).GetNanoSeconds();
    }
}

// Packets of 1,000 bytes on the wire at the times of a file, in ns.
void
RunUdp(const Settings& s)
{
    const uint32_t payload = 1000 - 2 - 20 - 8;
    NodeContainer nodes(2);
    InternetStackHelper stack;
    stack.Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(1e6 * s.rateMbps))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    NetDeviceContainer devices = link.Install(nodes);
    Ipv4AddressHelper address("10.1.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    TrafficControlHelper().Uninstall(devices);
    Ptr<Socket> sink = Socket::CreateSocket(nodes.Get(1), UdpSocketFactory::GetTypeId());
    sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    sink->SetRecvCallback(MakeCallback(&ReceivePackets));
    Ptr<Socket> source = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
    source->Connect(InetSocketAddress(interfaces.GetAddress(1), 9));
    std::ifstream times(s.arrivals);
    int64_t ns = 0;
    uint32_t number = 0;
    while (times >> ns)
    {
        Simulator::Schedule(NanoSeconds(ns), &SendPacket, source, payload, number++);
    }
    g_delays.assign(number, -1);
    Simulator::Run();
    std::cout << "{\"delays_ns\": [";
    for (uint32_t i = 0; i < number; ++i)
    {
        std::cout << (i ? "," : "") << int64_t(g_delays[i]);
    }
    std::cout << "]}" << std::endl;
}

} // namespace

int
main(int argc, char* argv[])
{
    Settings s;
    CommandLine command;
    command.AddValue("transport", "TcpNewReno, TcpCubic, TcpDctcp", s.transport);
    command.AddValue("queue", "fifo, codel, red", s.queue);
    command.AddValue("arrivals", "file of times in ns: UDP instead of TCP", s.arrivals);
    command.AddValue("flows", "number of flows", s.flows);
    command.AddValue("rate", "of the bottleneck, Mb/s", s.rateMbps);
    command.AddValue("delay", "of the bottleneck, ms", s.delayMs);
    command.AddValue("seconds", "simulated time", s.seconds);
    command.AddValue("warmUp", "time that is not counted, s", s.warmUp);
    command.AddValue("packets", "limit of the queue", s.packets);
    command.AddValue("threshold", "packets above which red marks", s.threshold);
    command.Parse(argc, argv);
    if (s.arrivals.empty())
    {
        RunTcp(s);
    }
    else
    {
        RunUdp(s);
    }
    Simulator::Destroy();
    return 0;
}
